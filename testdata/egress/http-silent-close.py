# A connection that closes without a word is logged once.
# allow: shared.example
# log: kind=http name=shared.example verdict=error reason=closed
# off: none, there is nothing to see
from egress import *

with connect(four("shared.example"), 80):
    pass
contained("closed")
