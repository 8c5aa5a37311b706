# No variable tells the payload of a proxy.
# log: none, nothing is tried
# off: none, the host's network has none either
from egress import *

names = [n for n in os.environ if "proxy" in n.lower()]
(escaped if names else contained)(str(names))
