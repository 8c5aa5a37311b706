# A Host with another port is another server.
# allow: shared.example
# never: :81
# log: kind=http verdict=deny name=shared.example reason=host_mismatch host=shared.example:81|shared.example
# off: none, the rig's server looks at the name only
from egress import *

verdict(tcp(four("shared.example"), 80, get("shared.example:81")))
