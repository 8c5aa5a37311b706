# brig asks the name servers of the policy; the payload that asks them itself is answered by the jail's responder.
# policy: {"allow": ["good.example"], "dns": ["8.8.8.8"]}
# wire: udp 8.8.8.8:53
# wire: tcp 93.184.216.34:80
# log: kind=dns verdict=deny reason=no_rule name=evil.example destination=8.8.8.8:53
# log: kind=http verdict=allow name=good.example status=200
# off: host
from egress import *

reply = ask(question("evil.example"))
if web("good.example")[9:12] != b"200":
    raise SystemExit("not reached")
answered(reply)
