# Neither to one that looks public.
# allow: ownpublic.example
# log: reason=own_address name=ownpublic.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("ownpublic.example"))
