# An allowed name that leads to metadata at a public address leads nowhere.
# allow: azure.example
# log: reason=metadata name=azure.example port=80 verdict=deny
# off: host
from egress import *

verdict(web("azure.example"))
