# Two names in one extension are refused, also if one is right.
# allow: shared.example
# log: kind=tls verdict=deny name=shared.example reason=not_tls
# off: none, the rig's server refuses it, too
from egress import *

def patched(first, change):
    """A ClientHello whose extensions are changed, with every length put right."""
    body = first[9:]
    at = 2 + 32
    at += 1 + body[at]
    at += 2 + struct.unpack(">H", body[at:at + 2])[0]
    at += 1 + body[at]
    extensions = change(body[at + 2:])
    body = body[:at] + struct.pack(">H", len(extensions)) + extensions
    return first[:3] + struct.pack(">H", len(body) + 4) + b"\1" + struct.pack(">I", len(body))[1:] + body


def entry(name):
    return b"\0" + struct.pack(">H", len(name)) + name


def change(extensions):
    size = struct.unpack(">H", extensions[2:4])[0]
    assert extensions[:2] == b"\0\0"
    names = entry(b"shared.example") + entry(b"evil.example")
    own = struct.pack(">H", len(names)) + names
    return b"\0\0" + struct.pack(">H", len(own)) + own + extensions[4 + size:]


shaken(tcp(four("shared.example"), 443, patched(hello("evil.example"), change)))
