"""What the agent tries once its work is done. An attempt that gets what it wants returns what that was; one that is
stopped raises OSError, or Stopped where the answer is no error but an empty hand. The exit code is the number of
attempts that got through: run it with a weaker jail, and see it grow."""

import ctypes
import errno
import os
import signal
import socket
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)


class Stopped(Exception):
    """Nothing was there to be had."""


def check(result):
    if result == -1:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return result


def read(path):
    with open(path, "rb") as f:
        return f"{len(f.read(4096))} bytes"


def write(path):
    with open(path, "ab") as f:
        f.write(b"\n")
    return "written"


def token():
    value = os.environ.get("AGENT_API_TOKEN")
    if value is None:
        raise Stopped("the variable is not in the jail")
    return value


def connect(address, port):
    with socket.create_connection((address, port), timeout=3):
        return "connected"


def vsock():
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    return "a socket to the hypervisor"


def others():
    """Processes that are neither ours nor the jail's init."""
    ours = {1, os.getpid()}
    seen = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) not in ours]
    if not seen:
        raise Stopped("only the jail's init and the agent are there")
    return f"{len(seen)} processes, {seen[:5]}"


def remount():
    check(LIBC.mount(None, b"/input", None, 0x1020, None))  # MS_REMOUNT | MS_BIND, without MS_RDONLY
    return "/input is writable"


def namespace():
    check(LIBC.unshare(0x10000000))  # CLONE_NEWUSER
    return "root of a new user namespace"


def fill():
    size = 0
    try:
        with open("/tmp/fill", "wb") as f:
            while size < 64 << 20:
                size += f.write(b"x" * (1 << 20))
                f.flush()
    finally:
        os.remove("/tmp/fill")
    return "64 MiB of the machine's memory"


def fork_bomb():
    children = []
    try:
        while len(children) < 500:
            pid = os.fork()
            if pid == 0:
                signal.pause()
                os._exit(0)
            children.append(pid)
    except OSError as e:
        raise OSError(e.errno, f"{e.strerror}, after {len(children)} processes") from e
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return f"{len(children)} processes"


def attempts(secret, port):
    return [
        ("read the host's /etc/shadow", lambda: read("/etc/shadow")),
        ("read the caller's token from the environment", token),
        ("read it from pid 1, /proc/1/environ", lambda: read("/proc/1/environ")),
        ("read the caller's ~/.aws/credentials", lambda: read(secret)),
        ("change the data in /input", lambda: write("/input/elements.csv")),
        ("plant a program in /usr/bin", lambda: write("/usr/bin/ls2")),
        ("make /input writable with mount(2)", remount),
        ("become root of a new user namespace", namespace),
        ("connect to a server on the internet", lambda: connect("1.1.1.1", 443)),
        ("connect to the cloud's metadata service", lambda: connect("169.254.169.254", 80)),
        ("connect to a service of this machine", lambda: connect("127.0.0.1", port)),
        ("open a socket to the hypervisor, AF_VSOCK", vsock),
        ("look for processes of the host", others),
        ("fill /tmp with 64 MiB", fill),
        ("fork 500 processes", fork_bomb),
    ]


def daemon(marker):
    """Leave something behind: run.sh looks for it after the jail's end."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", marker])
        os._exit(0)
    time.sleep(0.1)
    print("  … leaves a daemon behind; run.sh looks for it from outside")


def main(args):
    secret, port, marker = args[0], int(args[1]), args[2]
    print("agent: and now for something else", flush=True)
    through = 0
    for what, attempt in attempts(secret, port):
        try:
            got, why = attempt(), None
        except OSError as e:
            name = errno.errorcode.get(e.errno, type(e).__name__)
            # a connection that times out has sent packets: that is no success of the jail
            got, why = ("packets left", None) if isinstance(e, TimeoutError) else (None, f"{name}: {e.strerror}")
        except Stopped as e:
            got, why = None, str(e)
        through += got is not None
        mark = f"✓ stopped  ({why})" if got is None else f"✗ SUCCEEDED ({got})"
        print(f"  {what:46} {mark}", flush=True)
    daemon(marker)
    sys.stdout.flush()
    return min(through, 100)
