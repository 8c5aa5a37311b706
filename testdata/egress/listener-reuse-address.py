# SO_REUSEADDR does not change that.
# allow: tcp://good.example:17000
# log: none, nothing leaves
# off: none, nobody listens there in the host's network
from egress import *

def take(to, port, family=socket.AF_INET, **options):
    with socket.socket(family) as s:
        for name in options:
            s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), 1)
        s.bind((to, port))
        s.listen()
        return s.getsockname()


denied("bind", lambda: take("0.0.0.0", 17000, SO_REUSEADDR=1))
