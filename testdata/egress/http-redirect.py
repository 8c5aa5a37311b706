# A redirect to a denied name is a denied name.
# allow: good.example
# wire: tcp 93.184.216.34:80
# never: evil.example
# log: kind=http verdict=allow name=good.example path=/redirect status=302
# log: kind=dns verdict=deny reason=no_rule name=evil.example times=*
# off: host
import urllib.request
from egress import *

try:
    verdict(urllib.request.urlopen("http://good.example/redirect", timeout=5).read())
except OSError as e:
    contained(repr(e))
