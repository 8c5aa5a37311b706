# An allowed name as the beginning of another name allows nothing.
# log: kind=dns verdict=deny reason=no_rule name=good.example.evil.example
# off: host
from egress import *

verdict(web("good.example.evil.example"))
