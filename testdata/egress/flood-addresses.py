# Attempts at five hundred addresses are logged, or counted.
# lines: 700
# log: verdict=deny times=500
# off: none, a flood is none of the host's network's business
from egress import *

for i in range(500):
    tcp(f"93.185.{i >> 8}.{i & 255}", 80)
contained("all refused")
