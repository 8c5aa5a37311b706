# The securebits are set and locked, so that uid 0 means nothing for ever.
# off: call=PR_SET_SECUREBITS
from kernel import *

bits = call("prctl", 27, 0, 0, 0, 0)
contained(hex(bits)) if bits == 0xEF else escaped(hex(bits))
