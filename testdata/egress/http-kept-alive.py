# A request after the first response is checked like the first.
# allow: shared.example
# wire: tcp 93.184.216.36:80
# never: evil.example
# log: kind=http verdict=allow name=shared.example host=shared.example status=200
# log: kind=http verdict=deny name=shared.example reason=host_mismatch host=evil.example
# off: host
from egress import *

with connect(four("shared.example"), 80) as s:
    s.sendall(b"GET / HTTP/1.1\r\nHost: shared.example\r\n\r\n")
    got = s.recv(65536)
    s.sendall(get("evil.example"))
    verdict(got + drain(s))
