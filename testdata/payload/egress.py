"""What the attacks in testdata/egress have in common. A server of the rig that no policy allows says EVIL, one of the host says SECRET."""
import errno
import os
import socket
import ssl
import struct

from kernel import call, contained, denied, escaped

GOOD, EVIL, SHARED = "93.184.216.34", "93.184.216.35", "93.184.216.36"
GET = b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"


def get(host="good.example"):
    """A request as any client writes it."""
    return GET % host.encode()


WORDS = b"EVIL ", b"SECRET"


def drain(s):
    """Everything until the other side ends, or has said enough."""
    data = b""
    try:
        while len(data) < 1 << 20 and data[:1] != b"\x16" and not any(w in data for w in WORDS):
            more = s.recv(65536)
            if not more:
                break
            data += more
    except OSError as e:
        data += b" " + type(e).__name__.encode()
    return data


def connect(to, port, wait=5):
    """A connection to a name or an address."""
    return socket.create_connection((to, port), wait)


def tcp(to, port, data=None, wait=5):
    """Connect, send, and give what comes back, or the error."""
    try:
        with connect(to, port, wait) as s:
            s.sendall(get() if data is None else data)
            return drain(s)
    except OSError as e:
        return repr(e).encode()


def four(name):
    """The IPv4 address of a name, by one question of type A: or the error."""
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    except (OSError, UnicodeError) as e:
        return repr(e)


def web(name, port=80, host=None):
    """An HTTP request to a name; only one question is asked for it."""
    to = four(name)
    return tcp(to, port, get(host or name)) if to[0].isdigit() else to.encode()


def verdict(got):
    """Escaped if a server has answered that is out of bounds."""
    if isinstance(got, str):
        got = got.encode()
    for word in WORDS:
        if word in got:
            escaped(got[:300])
    contained(got[:120])


def wire(name):
    """A name as DNS writes it; a list gives its labels as bytes."""
    labels = name if isinstance(name, list) else [x.encode() for x in name.split(".")]
    return b"".join(bytes([len(x)]) + x for x in labels) + b"\0"


def question(name, kind=1, cls=1, flags=0x100, more=b"", counts=(1, 0, 0, 0)):
    """A DNS message."""
    name = name if isinstance(name, bytes) else wire(name)
    return struct.pack(">HHHHHH", 7, flags, *counts) + name + struct.pack(">HH", kind, cls) + more


def ask(message, server="8.8.8.8", wait=3):
    """Send a DNS message by UDP and give the reply, b"" for none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(wait)
        try:
            s.sendto(message, (server, 53))
            return s.recv(4096)
        except OSError:
            return b""


def ask_tcp(message, server="8.8.8.8"):
    """The same by TCP."""
    with connect(server, 53) as s:
        s.sendall(struct.pack(">H", len(message)) + message)
        return s.recv(4096)[2:]


def answered(reply, synthetic=True):
    """Escaped if a reply has an answer that is more than a synthetic address."""
    if len(reply) < 12:
        contained(f"{len(reply)} bytes")
    count = struct.unpack(">H", reply[6:8])[0]
    inside = synthetic and count == 1 and reply.find(b"\0\1\0\1\0\0\0") > 0 and (b"\0\4\xc6\x12" in reply or b"\0\4\xc6\x13" in reply)
    if count and not inside:
        escaped(f"{count} answers: {reply[12:200]!r}")
    contained(f"code {reply[3] & 15}, {count} answers")


def udp(to, port, data=b"x", family=socket.AF_INET, wait=1):
    """Send a datagram, twice, and give what comes back, or the error."""
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(wait)
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.sendto(data, (to, port))
            return s.recv(2048)
        except OSError as e:
            return repr(e).encode()


def hello(sni, alpn=None):
    """The first flight of a TLS client: a ClientHello in one record."""
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    inc, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ctx.wrap_bio(inc, out, server_hostname=sni).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def records(first, size):
    """The same handshake message in records of size bytes."""
    body = first[5:]
    return b"".join(first[:3] + struct.pack(">H", len(body[i:i + size])) + body[i:i + size] for i in range(0, len(body), size))


def https(to, sni, host=None, port=443, wait=5):
    """A request over TLS to an address, with this server name."""
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname, ctx.verify_mode = False, ssl.CERT_NONE
    try:
        with connect(to, port, wait) as raw, ctx.wrap_socket(raw, server_hostname=sni) as s:
            s.sendall(get(host or sni or "nobody"))
            return drain(s)
    except OSError as e:
        return repr(e).encode()


def shaken(data):
    """Escaped if a server has answered a ClientHello with a handshake message: it took the name that it was given."""
    if data[:1] == b"\x16":
        escaped(f"a ServerHello: {data[:20]!r}")
    contained(repr(data[:60]))


def created(what, *args):
    """Contained if there is no such socket."""
    denied(what, socket.socket, *args)
