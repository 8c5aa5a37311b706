# A server of an allowed name is not asked for another name that it serves, too.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=sni_mismatch sni=evil.example
# off: host
from egress import *

verdict(https(four("shared.example"), "evil.example"))
