# A rule for all addresses leaves the host's own out, also such as look public.
# allow: 0.0.0.0/0:80
# log: verdict=deny reason=own_address destination=93.184.217.2:80
# off: host
from egress import *

verdict(tcp("93.184.217.2", 80))
