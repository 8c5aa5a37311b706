# Another port of an allowed name has no listener, and is logged all the same.
# log: verdict=deny reason=port name=good.example port=81
# off: none, its server is a good one
from egress import *

verdict(web("good.example", 81))
