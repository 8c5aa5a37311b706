# Neither have SVCB records.
# log: kind=dns verdict=deny reason=no_rule name=_443._https.good.example
# off: host
from egress import *

answered(ask(question("_443._https.good.example", 64)))
