"""A client of brigd, which runs code and commands that nobody trusts in jails.

One file, the standard library only, Python 3.9 or newer:

    import brig

    with brig.Client() as client:
        result = client.run("print(6 * 7)", language="python", timeout=10)
        print(result.status, result.stdout)

        with client.sandbox() as box:              # /input, /work and /output, kept from run to run
            box.put("/input/data.csv", b"a,b\n1,2\n")
            box.run(cmd=["sort", "-o", "/output/sorted", "/input/data.csv"])
            print(box.read("/output/sorted"))

        with client.stream("import time\nfor i in range(3): print(i, flush=True); time.sleep(1)") as run:
            for event in run:
                print(event.type, event.data)

What brigd refuses raises Refused, whose next_steps say how to proceed. How a program ended is no exception: look at
Result.status. A Client may be used by several threads; a Stream by one, but for cancel, send and close.
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import http.client
import ipaddress
import json
import os
import random
import re
import shutil
import socket as _socket
import ssl
import stat
import struct
import sys
import tarfile
import tempfile
import time
import urllib.parse
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

__all__ = [
    "Applied", "BrigError", "ChangeSet", "Client", "Denial", "Event", "FileInfo", "Forbidden", "Found", "Image", "Language", "Line", "NotFound", "Notice", "ProtocolError", "Refused", "Result", "Sandbox",
    "SandboxInfo", "Share", "SnapshotInfo", "Stream", "Truncated", "TryAgain", "Unauthorized", "Unreachable", "Untrusted", "Violation", "Watch",
    "default_socket", "main",
]

MAX_ANSWER = 256 << 20  # bytes of a JSON answer, or of one event
MAX_WAIT = 60.0  # seconds that one Retry-After may take
_units = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

FileContent = Union[str, bytes]
Size = Union[int, str]  # bytes, or a text like "512m"
Seconds = Union[float, str]  # seconds, or a text like "1m30s"


class BrigError(Exception):
    """Anything that this module raises."""


class Unreachable(BrigError):
    """brigd does not answer, or the connection has broken: whether a run has happened is not known."""


class Untrusted(BrigError):
    """Another user listens where brigd should. Nothing has been sent: no token, no secret, no code."""


class ProtocolError(BrigError):
    """The answer is not one of brigd's."""


class Refused(BrigError):
    """Nothing has run, because somebody said no: layer is who, rule what said so, next_steps how to proceed."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        self.status = status
        self.message = str(body.get("error", ""))
        self.code = str(body.get("code", ""))
        self.layer = str(body.get("layer", ""))
        self.rule = str(body.get("rule", ""))
        steps = body.get("next_steps")
        self.next_steps: List[str] = [str(s) for s in steps] if isinstance(steps, list) else []
        self.retry_after = retry_after
        super().__init__(self.message)

    def __str__(self) -> str:
        return "\n".join(["%s: %s" % (self.layer, self.message)] + ["- " + s for s in self.next_steps])

    def to_dict(self) -> Dict[str, Any]:
        """The refusal as a model may read it."""
        return {"error": self.message, "code": self.code, "layer": self.layer, "rule": self.rule, "next_steps": self.next_steps}


class NotFound(Refused):
    """There is no such sandbox, file or run; or it is another agent's."""


class Unauthorized(Refused):
    """The token is missing, wrong, expired or does not allow this, or a policy does not."""


class Forbidden(Unauthorized):
    """brigd knows who asks, and a policy, a token or the operator does not allow this: another token will not help."""


class TryAgain(Refused):
    """Too many runs at once. The client has already waited and tried as often as it was told to."""


@dataclass(frozen=True)
class Violation:
    """Something forbidden that a run has tried."""

    type: str
    detail: str = ""
    count: int = 0


@dataclass(frozen=True)
class Denial:
    """What the jail has refused: a system call, a destination (layer network) or the command (layer exec)."""

    layer: str
    name: str
    count: int = 0
    why: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Truncated:
    """How many bytes were left out between the head and the tail of each stream."""

    stdout_bytes: int = 0
    stderr_bytes: int = 0


@dataclass(frozen=True)
class ChangeSet:
    """What a run has changed in its copy of a share (mode cow). Without an id it is lost, for the reason in error, or
    all of it is left out."""

    share: str
    id: str = ""
    path: str = ""
    target: str = ""
    created: str = ""
    status: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0
    bytes: int = 0
    dirs: int = 0
    left_out: int = 0
    capture_us: int = 0
    error: str = ""


@dataclass(frozen=True)
class Applied:
    """How many files of a share were changed, and how many had the changes already; removed: the set is gone."""

    files: int = 0
    dirs: int = 0
    done: int = 0
    removed: bool = False
    left_behind: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """What happened. status is ok, failed, signal, timeout, cpu, memory, processes, output, disk, violation, cancelled."""

    id: str
    status: str
    exit_code: int = -1
    signal: str = ""
    stdout: str = ""
    stderr: str = ""
    timed_out: bool = False
    usage: Dict[str, Any] = field(default_factory=dict)
    limits_hit: List[str] = field(default_factory=list)
    violations: List[Violation] = field(default_factory=list)
    denials: List[Denial] = field(default_factory=list)
    network: Optional[Dict[str, Any]] = None
    truncated: Optional[Truncated] = None
    narrowed: List[str] = field(default_factory=list)
    image: str = ""
    mounts: List[Dict[str, Any]] = field(default_factory=list)
    changes: List[ChangeSet] = field(default_factory=list)
    git: List[Dict[str, Any]] = field(default_factory=list)
    hints: List[str] = field(default_factory=list)
    enforced: Dict[str, str] = field(default_factory=dict)
    warm: bool = False
    queue: Optional[Dict[str, Any]] = None
    error: Optional[Dict[str, Any]] = None

    @property
    def ok(self) -> bool:
        """True if the program exited with 0, and no limit was in its way."""
        return self.status == "ok"

    def to_dict(self) -> Dict[str, Any]:
        """The result as a model may read it: how it ended and what it said, without what is empty."""
        d = dataclasses.asdict(self)
        more = ("signal", "stderr", "timed_out", "limits_hit", "violations", "denials", "truncated", "narrowed", "changes", "git", "hints", "error")
        return {**{k: d[k] for k in ("status", "exit_code", "stdout")}, **{k: d[k] for k in more if d[k]}}


@dataclass(frozen=True)
class Event:
    """A piece of a running run: type is start, stdout, stderr or end."""

    type: str
    id: str = ""
    data: str = ""
    result: Optional[Result] = None


@dataclass(frozen=True)
class Language:
    """A language that code may be written in."""

    language: str
    version: str = ""
    path: str = ""


@dataclass(frozen=True)
class Image:
    """An image of the operator's that may be the root, and the languages in it."""

    image: str
    digest: str = ""
    languages: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Share:
    """A directory of the operator's that may be mounted, at most in this mode: ro, cow or rw. No run changes what protect lists."""

    share: str
    mode: str = ""
    protect: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox as brigd describes it. Times are in RFC 3339."""

    id: str
    agent_id: str = ""
    created: str = ""
    expires: str = ""
    disk_bytes: int = 0
    disk_used_bytes: int = 0
    inodes: int = 0
    inodes_used: int = 0
    running: int = 0
    mounts: List[Dict[str, Any]] = field(default_factory=list)
    save_every: str = ""
    saved: str = ""
    not_saved: str = ""
    living: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProcessInfo:
    """A process of a living sandbox. next is the offset behind its output so far, of which kept bytes can still be read."""

    id: str
    pid: int = 0
    tag: str = ""
    cmd: List[str] = field(default_factory=list)
    started: str = ""
    running: bool = False
    tty: Dict[str, Any] = field(default_factory=dict)
    next: int = 0
    kept: int = 0
    result: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProcessOutput:
    """A part of a process's output: pieces of stdout and stderr in the order in which they came. What follows begins at next."""

    output: List[Dict[str, Any]] = field(default_factory=list)
    offset: int = 0
    next: int = 0
    dropped: int = 0
    running: bool = False
    result: Dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of both streams."""
        return "".join(piece["data"] for piece in self.output)


@dataclass(frozen=True)
class SnapshotInfo:
    """The files of a sandbox at some moment. state is idle, frozen (one moment of its runs) or live (not one moment)."""

    id: str
    agent_id: str = ""
    sandbox: str = ""
    created: str = ""
    bytes: int = 0
    files: int = 0
    disk_bytes: int = 0
    inodes: int = 0
    state: str = ""
    left_out: str = ""


@dataclass(frozen=True)
class FileInfo:
    """One file of a sandbox. type is file, dir, symlink or other; mode is in octal."""

    path: str
    type: str = ""
    size: int = 0
    mode: str = ""
    mtime: str = ""
    target: str = ""
    path_base64: str = ""

    @property
    def raw(self) -> bytes:
        """The path in bytes, also where they are no UTF-8."""
        return base64.b64decode(self.path_base64) if self.path_base64 else self.path.encode()


@dataclass(frozen=True)
class Line:
    """A line of a file that a search has found. line and column count from 1; cut: text is a part of it."""

    path: str
    line: int = 0
    column: int = 0
    text: str = ""
    cut: bool = False
    path_base64: str = ""

    @property
    def raw(self) -> bytes:
        """The path in bytes, also where they are no UTF-8."""
        return base64.b64decode(self.path_base64) if self.path_base64 else self.path.encode()


@dataclass(frozen=True)
class Notice:
    """What has happened to a file: type is create, write, remove, rename or chmod; or watching, overflow, unwatched or end, of the watch."""

    type: str
    path: str = ""
    old_path: str = ""
    dir: bool = False
    note: str = ""
    path_base64: str = ""
    old_path_base64: str = ""

    @property
    def raw(self) -> bytes:
        """The path in bytes, also where they are no UTF-8."""
        return base64.b64decode(self.path_base64) if self.path_base64 else self.path.encode()


@dataclass(frozen=True)
class Found:
    """The lines that a search has found, and how many files it has searched, has left as binary, has skipped. more: there may be others."""

    lines: List[Line] = field(default_factory=list)
    files: int = 0
    binary: int = 0
    long_lines: int = 0
    skipped: int = 0
    more: bool = False


_T = TypeVar("_T")


def _load(kind: Type[_T], body: Any) -> _T:
    """Make a dataclass of a JSON object. Fields that it does not know are left out: brigd may be newer."""
    if not isinstance(body, dict):
        raise ProtocolError("brigd's answer has no %s" % kind.__name__)
    values = {}
    for f in dataclasses.fields(kind):  # type: ignore[arg-type]
        value = body.get(f.name)
        if value is None:
            continue
        if kind is Result and f.name == "violations":
            value = _list(Violation, body, f.name)
        elif kind is Result and f.name == "denials":
            value = _list(Denial, body, f.name)
        elif kind is Result and f.name == "changes":
            value = _list(ChangeSet, body, f.name)
        elif kind is Found and f.name == "lines":
            value = _list(Line, body, f.name)
        elif kind is Result and f.name == "truncated":
            value = _load(Truncated, value)
        elif kind is Event and f.name == "result":
            value = _load(Result, value)
        elif not isinstance(value, _kinds[str(f.type).split("[")[0]]):
            raise ProtocolError("brigd's answer has a %s whose %s is no %s" % (kind.__name__, f.name, f.type))
        values[f.name] = value
    try:
        return kind(**values)
    except TypeError as e:
        raise ProtocolError("brigd's answer is no whole %s: %s" % (kind.__name__, e)) from e


# The Python types of JSON values by the annotations of the fields above, which are strings here.
_kinds: Dict[str, Any] = {"str": str, "int": int, "bool": bool, "Dict": dict, "List": list, "Optional": object}


def _list(kind: Type[_T], body: Any, name: str) -> List[_T]:
    values = body.get(name) if isinstance(body, dict) else None
    if not isinstance(values, list):
        raise ProtocolError("brigd's answer has no list of %s" % name)
    return [_load(kind, v) for v in values]


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ProtocolError("brigd's answer is no JSON: %s" % e) from e


def _field(text: bytes, name: str, kind: Type[_T]) -> _T:
    body = _json(text)
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise ProtocolError("brigd's answer has no %s" % name)
    return value


_PACKAGED = "/run/brigd/brigd.sock"  # of the package's brigd.socket


def default_socket() -> str:
    """Where brigd listens if nobody says otherwise. If nobody listens there, a Client takes /run/brigd/brigd.sock."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        return os.path.join(runtime, "brigd.sock")
    return _PACKAGED if os.geteuid() == 0 else "/tmp/brigd-%d/brigd.sock" % os.geteuid()


class _UnixConnection(http.client.HTTPConnection):
    """A connection to brigd's socket. It refuses a socket of another user, who may have made /tmp/brigd-UID first."""

    def __init__(self, path: str, timeout: Optional[float], private: bool, peer_uid: Optional[int]) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path, self._private, self._peer_uid, self._foreign = path, private, peer_uid, False

    def connect(self) -> None:
        try:
            self._connect()
        except (FileNotFoundError, ConnectionRefusedError):
            if not self._private or self._path == _PACKAGED or not os.path.exists(_PACKAGED):
                raise
            self._path = _PACKAGED
            self._connect()
        # SO_PEERCRED of unix(7): pid, uid and gid of the process that called listen(2).
        peer = self.sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, _ = struct.unpack("3i", peer)
        self._foreign = uid != os.geteuid()
        if uid not in (0, os.geteuid(), self._peer_uid):
            self.close()
            raise Untrusted("uid %d listens at %s, and is neither root nor you; "
                            "if that is whom you mean, pass peer_uid=%d" % (uid, self._path, uid))

    def _connect(self) -> None:
        if self._private and self._path != _PACKAGED:  # root's own is in /run, where nobody else makes a directory
            self._check_directory()
        self.sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.close()
            raise

    def hint(self, e: Exception) -> str:
        """Return what to do about an error, of a brigd that does not admit this user or of none."""
        if isinstance(e, PermissionError) or self._foreign and os.geteuid() != 0 and isinstance(e, ConnectionError):
            how = "--allow-uid"
            if self._path == _PACKAGED:
                how = '"allow_uids" in /etc/brig/brigd.json, with SocketMode=0666 for brigd.socket'
            return "the brigd at %s admits user %d once its operator adds that to %s" % (self._path, os.geteuid(), how)
        return "is brigd running?"

    def _check_directory(self) -> None:
        directory = os.path.dirname(self._path)
        st = os.lstat(directory)
        if not stat.S_ISDIR(st.st_mode) or st.st_uid != os.geteuid() or st.st_mode & 0o077:
            raise Untrusted("%s is not a directory of yours alone (mode 0700); name brigd's socket, or have it removed"
                            % directory)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _file(content: FileContent) -> Union[str, Dict[str, str]]:
    if isinstance(content, str):
        return content
    return {"base64": base64.b64encode(content).decode()}


def _request(code: Optional[str], language: Optional[str], cmd: Optional[Sequence[str]], files: Optional[Mapping[str, FileContent]],
             fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Make a request: what is None is left out."""
    if (code is None) == (cmd is None):
        raise ValueError("give either code or cmd")
    if isinstance(cmd, str):
        raise ValueError('cmd is a list of words, as in ["ls", "-l"]: no shell reads it')
    body = {k: v for k, v in fields.items() if v is not None}
    for name, value in body.items():
        if isinstance(value, float) and not abs(value) < float("inf"):
            raise ValueError("%s has to be a finite number" % name)
    if code is not None:
        body.update(code=code, language=language or "python")
    else:
        body["cmd"] = list(cmd or [])
    if files:
        body["files"] = {name: _file(content) for name, content in files.items()}
    return body


def _mounts(mounts: Optional[Sequence[Mapping[str, Any]]]) -> Optional[List[Dict[str, Any]]]:
    return None if mounts is None else [dict(m) for m in mounts]


class Client:
    """A connection to brigd: by a Unix socket, or by a URL with a token or a client certificate.

    socket     the path of brigd's socket. Without socket and url: $BRIGD_URL, $BRIGD_SOCKET, or default_socket()
    url        "https://host:port", "http://localhost:port" or "unix:/path"
    token      a capability token; default: $BRIGD_TOKEN
    agent_id   on whose behalf, where no token says so
    tls        for https; default: the system's certificates
    timeout    seconds for an answer, but for runs, which have their own limit
    read_timeout  seconds to wait for a run, added to the time limit that the call names: for brigd's queue and answer
    peer_uid   a uid that may serve the Unix socket besides root and this user
    retries    how often to wait and ask again where brigd says when (429 and 503 with Retry-After)
    """

    def __init__(self, socket: Optional[str] = None, url: Optional[str] = None, token: Optional[str] = None, *, agent_id: Optional[str] = None,
                 tls: Optional[ssl.SSLContext] = None, timeout: float = 60.0, read_timeout: Optional[float] = 300.0,
                 peer_uid: Optional[int] = None, retries: int = 5) -> None:
        if socket and url:
            raise ValueError("give either socket or url")
        if not socket and not url:
            url, socket = os.environ.get("BRIGD_URL"), os.environ.get("BRIGD_SOCKET")
            known = ("BRIGD_URL", "BRIGD_SOCKET", "BRIGD_TOKEN")
            unknown = [name for name in os.environ if name.startswith("BRIGD_") and name not in known]
            if unknown:
                raise ValueError("%r is not a variable of this client; write one of %s" % (unknown[0], ", ".join(known)))
        if url and url.startswith("unix:"):
            socket, url = "/" + url[len("unix:"):].lstrip("/"), None
        self._token = token if token is not None else os.environ.get("BRIGD_TOKEN")
        self._agent, self._retries, self._peer_uid = agent_id, retries, peer_uid
        self._timeout, self._read_timeout = timeout, read_timeout
        self._sleep: Callable[[float], None] = time.sleep
        self._connect = self._by_url(url, tls) if url else self._by_socket(socket)

    def _by_socket(self, socket: Optional[str]) -> Callable[[Optional[float]], http.client.HTTPConnection]:
        path = socket or default_socket()
        self._where = "unix:" + path
        return lambda timeout: _UnixConnection(path, timeout, not socket, self._peer_uid)

    def _by_url(self, url: str, tls: Optional[ssl.SSLContext]) -> Callable[[Optional[float]], http.client.HTTPConnection]:
        u = urllib.parse.urlsplit(url)
        host, port = u.hostname or "", u.port
        if u.scheme not in ("http", "https") or not host or u.path not in ("", "/") or u.query or u.username:
            raise ValueError("url has to be https://HOST:PORT, http://localhost:PORT or unix:/PATH")
        self._where = "%s://%s" % (u.scheme, u.netloc)
        if u.scheme == "https":
            context = tls or ssl.create_default_context()
            return lambda timeout: http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
        if not _loopback(host):
            raise ValueError("http:// would show the token to the network; use https://")
        return lambda timeout: http.client.HTTPConnection(host, port, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        return None

    # -- requests

    def _send(self, method: str, path: str, body: Union[bytes, IO[bytes], None], kind: str, accept: str,
              timeout: Optional[float]) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request, wait as brigd says and try again, and give an answer that is no refusal."""
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = kind
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        if self._agent:
            headers["X-Agent-Id"] = self._agent
        tries = self._retries if body is None or isinstance(body, bytes) else 0
        while True:
            connection = self._connect(self._timeout)
            try:
                connection.connect()
                self._patience(connection, timeout)
                answer = self._ask(connection, method, path, body, headers)
                if answer.status < 300:
                    return connection, answer
                no = self._refusal(answer)
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                hint = connection.hint(e) if isinstance(connection, _UnixConnection) else "is brigd running?"
                raise Unreachable("%s: %s; %s" % (self._where, e or type(e).__name__, hint)) from e
            except BaseException:
                connection.close()
                raise
            connection.close()
            if no.retry_after is None or tries <= 0 or no.retry_after > MAX_WAIT:
                raise no
            tries -= 1
            self._sleep(no.retry_after * (1 + random.random() / 4))  # not all at once

    def _patience(self, connection: http.client.HTTPConnection, timeout: Optional[float]) -> None:
        """Set how long an answer may take, and by TCP have the kernel find out when the peer is gone."""
        connection.sock.settimeout(timeout)
        if connection.sock.family != _socket.AF_UNIX:
            connection.sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)
            # tcp(7); not every system has them
            for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
                if hasattr(_socket, name):
                    connection.sock.setsockopt(_socket.IPPROTO_TCP, getattr(_socket, name), value)

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Union[bytes, IO[bytes], None],
             headers: Mapping[str, str]) -> http.client.HTTPResponse:
        try:
            connection.request(method, path, body=body, headers=dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            try:
                return connection.getresponse()  # brigd refused the body before all of it was sent
            except (OSError, http.client.HTTPException):
                pass
            raise
        return connection.getresponse()

    def _run_timeout(self, timeout: Optional[Seconds]) -> Optional[float]:
        """Return how long to wait for a run, in seconds: its timeout, if there is one, and read_timeout."""
        if self._read_timeout is None:
            return None
        if isinstance(timeout, (int, float)):
            return float(timeout) + self._read_timeout
        known = 0.0
        for number, unit in re.findall(r"([0-9.]+)(ms|us|µs|ns|h|m|s)?", timeout or ""):
            known += float(number) * _units[unit] if number.strip(".") and number.count(".") < 2 else 0.0
        return known + self._read_timeout

    def _refusal(self, answer: http.client.HTTPResponse) -> Refused:
        text = answer.read(1 << 20)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict) or "error" not in body:
            body = {"error": "HTTP %d %s" % (answer.status, answer.reason), "code": "http", "layer": "http"}
        after = answer.headers.get("Retry-After", "")
        kind = {401: Unauthorized, 403: Forbidden, 404: NotFound, 429: TryAgain, 503: TryAgain}.get(answer.status, Refused)
        return kind(answer.status, body, float(after) if after.isascii() and after.isdigit() else None)

    def _call(self, method: str, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        return self._bytes(method, path, data, "application/json", "application/json", self._timeout)

    def _one(self, kind: Type[_T], method: str, path: str, body: Any = None) -> _T:
        return _load(kind, _json(self._call(method, path, body)))

    def _all(self, kind: Type[_T], name: str) -> List[_T]:
        return _list(kind, _json(self._call("GET", "/v1/" + name)), name)

    def _bytes(self, method: str, path: str, data: Union[bytes, IO[bytes], None], kind: str, accept: str, timeout: Optional[float]) -> bytes:
        connection, answer = self._send(method, path, data, kind, accept, timeout)
        try:
            text = answer.read(MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException) as e:
            raise Unreachable("%s: the answer broke off: %s" % (self._where, e or type(e).__name__)) from e
        finally:
            left = answer.length
            connection.close()
        if len(text) > MAX_ANSWER:
            raise ProtocolError("the answer has more than %d bytes" % MAX_ANSWER)
        if left:  # read(n) does not say so
            raise Unreachable("%s: the answer broke off %d bytes before its end" % (self._where, left))
        return text

    # -- runs

    def run(self, code: Optional[str] = None, *, language: Optional[str] = None, cmd: Optional[Sequence[str]] = None, args: Optional[Sequence[str]] = None,
            files: Optional[Mapping[str, FileContent]] = None, stdin: Optional[str] = None, timeout: Optional[Seconds] = None,
            memory: Optional[Size] = None, cpus: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
            secrets: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, network: Optional[Sequence[str]] = None,
            image: Optional[str] = None, mounts: Optional[Sequence[Mapping[str, Any]]] = None, sandbox: Optional[str] = None, apart: Optional[bool] = None, max_output: Optional[Size] = None, strip_ansi: Optional[bool] = None,
            strip: Optional[str] = None) -> Result:
        """Run code, or a command as a list of words, and wait for its end.

        files are put below /input by their relative names; image is one of the operator's as the root; mounts are directories of the operator's, as
        {"share": "data", "target": "/data"}, with "path" for one below it, "mode" for less than is allowed and "protect" for a list of paths in it that the run cannot change; network names what may be reached, as "example.org:443";
        secrets are environment variables whose values are masked in the output. strip "ansi" removes terminal sequences
        from the output, and "all" also other characters that act on a terminal or are invisible.
        """
        body = _request(code, language, cmd, files, dict(args=args, stdin=stdin, timeout=timeout, memory=memory, cpus=cpus, env=env, secrets=secrets, cwd=cwd,
                                                         network=network, image=image, mounts=_mounts(mounts), sandbox=sandbox, apart=apart, max_output=max_output,
                                                         strip_ansi=strip_ansi, strip=strip))
        data = json.dumps(body, allow_nan=False).encode()
        wait = self._run_timeout(timeout)
        return _load(Result, _json(self._bytes("POST", "/v1/run", data, "application/json", "application/json", wait)))

    def stream(self, code: Optional[str] = None, *, language: Optional[str] = None, cmd: Optional[Sequence[str]] = None, args: Optional[Sequence[str]] = None,
               files: Optional[Mapping[str, FileContent]] = None, stdin: Optional[str] = None, timeout: Optional[Seconds] = None,
               memory: Optional[Size] = None, cpus: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
               secrets: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None, network: Optional[Sequence[str]] = None,
               image: Optional[str] = None, mounts: Optional[Sequence[Mapping[str, Any]]] = None, sandbox: Optional[str] = None, apart: Optional[bool] = None, strip_ansi: Optional[bool] = None,
               strip: Optional[str] = None, interactive: bool = False) -> Stream:
        """Run as run does, but give the output as it comes. With interactive, Stream.send goes to the standard input."""
        body = _request(code, language, cmd, files, dict(args=args, stdin=stdin, timeout=timeout, memory=memory, cpus=cpus, env=env, secrets=secrets, cwd=cwd,
                                                         network=network, image=image, mounts=_mounts(mounts), sandbox=sandbox, apart=apart, strip_ansi=strip_ansi,
                                                         strip=strip))
        path = "/v1/run" + ("?stdin=stream" if interactive else "")
        data = json.dumps(body, allow_nan=False).encode()
        connection, answer = self._send("POST", path, data, "application/json", "application/x-ndjson",
                                        self._run_timeout(timeout))
        return Stream(self, connection, answer)

    # -- sandboxes

    def sandbox(self, *, disk: Optional[Size] = None, inodes: Optional[int] = None, ttl: Optional[Seconds] = None,
                files: Optional[Mapping[str, FileContent]] = None,
                mounts: Optional[Sequence[Mapping[str, Any]]] = None, snapshot: Optional[str] = None,
                living: bool = False, image: Optional[str] = None, network: Optional[Sequence[str]] = None,
                memory: Optional[Size] = None, cpus: Optional[float] = None,
                env: Optional[Mapping[str, str]] = None) -> Sandbox:
        """Make a sandbox, with the files of a snapshot if its id is given; a with statement deletes it in the end. ttl is how long it lives without being used; each run sees mounts.

        With living its processes go on between calls: see Sandbox.start. What follows living is for that alone."""
        body: Dict[str, Any] = {k: v for k, v in {
            "disk": disk, "inodes": inodes, "ttl": ttl, "mounts": _mounts(mounts), "from": snapshot,
            "living": living or None, "image": image, "network": network and list(network), "memory": memory, "cpus": cpus,
            "env": env and dict(env)}.items() if v is not None}
        if files:
            body["files"] = {name: _file(content) for name, content in files.items()}
        return Sandbox(self, self._one(SandboxInfo, "POST", "/v1/sandboxes", body).id)

    def open_sandbox(self, id: str) -> Sandbox:
        """Use a sandbox that there is already."""
        box = Sandbox(self, id)
        box.info()
        return box

    def sandboxes(self) -> List[SandboxInfo]:
        """List the agent's sandboxes."""
        return self._all(SandboxInfo, "sandboxes")

    def snapshots(self) -> List[SnapshotInfo]:
        """List the agent's snapshots."""
        return self._all(SnapshotInfo, "snapshots")

    def delete_snapshot(self, id: str) -> None:
        """Delete a snapshot. Sandboxes that were made from it stay."""
        self._call("DELETE", "/v1/snapshots/" + urllib.parse.quote(id, safe=""))

    # -- about brigd

    def languages(self) -> List[Language]:
        """List the languages that work there."""
        return self._all(Language, "languages")

    def images(self) -> List[Image]:
        """List the images of the operator's that may be the root."""
        return self._all(Image, "images")

    def shares(self) -> List[Share]:
        """List the directories of the operator's that may be mounted."""
        return self._all(Share, "shares")

    def changes(self) -> List[ChangeSet]:
        """List the change sets of this agent and token: what runs have changed in their copies of shares."""
        return self._all(ChangeSet, "changes")

    def diff_changes(self, id: str, path: Optional[str] = None) -> str:
        """Show a change set as git diff does, or what it changes at and below a path."""
        where = "/v1/changes/%s/diff" % urllib.parse.quote(id, safe="")
        if path is not None:
            where += "?" + urllib.parse.urlencode({"path": path})
        return self._bytes("GET", where, None, "", "*/*", self._timeout).decode("utf-8", "replace")

    def apply_changes(self, id: str, paths: Optional[Sequence[str]] = None, *, dry_run: bool = False) -> Applied:
        """Change the share as the run has changed its copy, if the operator allows it. Nothing changes if it does not fit."""
        body: Dict[str, Any] = {"dry_run": dry_run}
        if paths is not None:
            body["paths"] = list(paths)
        return self._one(Applied, "POST", "/v1/changes/%s/apply" % urllib.parse.quote(id, safe=""), body)

    def discard_changes(self, id: str) -> None:
        """Remove a change set, if the operator allows it."""
        self._call("DELETE", "/v1/changes/" + urllib.parse.quote(id, safe=""))

    def version(self) -> str:
        """brigd's version."""
        return _field(self._call("GET", "/v1/version"), "version", str)


class Stream:
    """A run that goes on: iterate over its Events, the last of which has the result. Leaving a with statement ends the run."""

    def __init__(self, client: Client, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._client, self._connection, self._answer = client, connection, answer
        self.id: str = answer.headers.get("X-Run-Id", "")
        self.result: Optional[Result] = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        if self.result is not None:
            raise StopIteration
        try:
            line = self._answer.readline(MAX_ANSWER)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as e:
            raise Unreachable("the stream broke off: %s" % (e or type(e).__name__)) from e
        if not line.endswith(b"\n"):
            raise Unreachable("the stream broke off before its end; the run is cancelled")
        event = _load(Event, _json(line))
        self.id = self.id or event.id
        if event.type == "end":
            self.result = event.result
            self.close()
            if self.result is None:
                raise ProtocolError("the end of the stream has no result")
        return event

    def wait(self) -> Result:
        """Read to the end and give the result, whose stdout and stderr are what was still to come."""
        out: Dict[str, List[str]] = {"stdout": [], "stderr": []}
        for event in self:
            if event.type in out:
                out[event.type].append(event.data)
        if self.result is None:
            raise ProtocolError("the stream has no end")
        return dataclasses.replace(self.result, stdout="".join(out["stdout"]), stderr="".join(out["stderr"]))

    def _path(self) -> str:
        if not self.id:
            raise ValueError("the run has not started: read its first event")
        return "/v1/runs/" + urllib.parse.quote(self.id, safe="")

    def send(self, data: FileContent, *, eof: bool = False) -> int:
        """Send standard input; returns how many bytes the run has taken. With eof nothing more follows.

        It returns when the run has taken all. A program that answers while it reads, as cat does, takes no more once
        some 64 KiB of its output wait to be read: send less at once and read the events in between, or read them in
        another thread. brigd ends a run whose output is not read for half a minute.
        """
        raw = data.encode() if isinstance(data, str) else data
        path = self._path() + "/stdin" + ("?eof=1" if eof else "")
        text = self._client._bytes("POST", path, raw, "application/octet-stream", "application/json",
                                   self._client._read_timeout)
        return _field(text, "bytes", int)

    def cancel(self) -> None:
        """Cancel the run and wait until it has ended; its events, with the result, can still be read."""
        try:
            self._client._call("DELETE", self._path())
        except NotFound:
            pass  # it has ended by itself

    def close(self) -> None:
        """Close the connection, which ends the run if it still goes on."""
        self._answer.close()
        self._connection.close()


class Watch:
    """What happens to files: iterate over its Notices, the first of which is "watching". Leaving a with statement ends it."""

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection, self._answer, self._over = connection, answer, False

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __iter__(self) -> Iterator[Notice]:
        return self

    def __next__(self) -> Notice:
        if self._over:
            raise StopIteration
        try:
            line = self._answer.readline(MAX_ANSWER)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as e:
            raise Unreachable("the watch broke off: %s" % (e or type(e).__name__)) from e
        if not line.endswith(b"\n"):
            raise Unreachable("the watch broke off before its end")
        notice = _load(Notice, _json(line))
        if notice.type == "end":
            self.close()
        return notice

    def close(self) -> None:
        """Close the connection, which ends the watch."""
        self._over = True
        self._answer.close()
        self._connection.close()


def _components(member: tarfile.TarInfo) -> Tuple[str, ...]:
    """The parts of a member's name, none of which may lead upwards; none at all for the top."""
    parts = tuple(part for part in member.name.split("/") if part not in ("", "."))
    if member.name.startswith("/") or ".." in parts or "\0" in member.name or not (member.isreg() or member.isdir() or member.issym()):
        raise ProtocolError("the archive has %r in it, which is not below it, or no file, directory or link" % member.name)
    return parts


def _check_links(links: Dict[Tuple[str, ...], str]) -> None:
    """Refuse a link that leads above the top, at any step of the way that the kernel would take (path_resolution(7)).

    Targets are walked part by part, since x/.. is not where x stands if x is itself a link of the archive.
    """
    for name, target in links.items():
        at, rest, followed = list(name[:-1]), target.split("/")[::-1], 0
        while rest:
            part = rest.pop()
            if part == "..":
                if not at:
                    raise ProtocolError("the link %r leads out of the directory, to %r" % ("/".join(name), target))
                at.pop()
            elif part not in ("", "."):
                at.append(part)
                further = links.get(tuple(at))
                if further is not None:
                    followed += 1
                    if followed > 40:
                        break  # the kernel follows no more: it leads nowhere
                    at.pop()
                    rest += further.split("/")[::-1]


def _extract(tar: tarfile.TarFile, directory: str) -> None:
    """Extract files, directories and symbolic links into an empty directory.

    tarfile's own filter for this is not in every Python that this file is for. All names and links are checked before
    anything is made. Links are made last, so that nothing is written through one.
    """
    members = [(_components(member), member) for member in tar]
    links: Dict[Tuple[str, ...], str] = {}
    seen: Dict[Tuple[str, ...], bool] = {}  # whether it is a directory
    for name, member in members:
        if name in seen and not (seen[name] and member.isdir()) or not (name or member.isdir()):
            raise ProtocolError("the archive has %r in it twice" % member.name)
        seen[name] = member.isdir()
        if member.issym():
            if member.linkname.startswith("/") or "\0" in member.linkname or not member.linkname:
                raise ProtocolError("the link %r leads out of the directory, to %r" % (member.name, member.linkname))
            links[name] = member.linkname
    for name, member in members:
        for i in range(len(name)):
            if not seen.get(name[:i], True):
                raise ProtocolError("the archive has %r in it, which is below what is no directory" % member.name)
    _check_links(links)
    modes: List[Tuple[str, int]] = []
    for name, member in members:
        at = os.path.join(directory, *name)
        os.makedirs(at if member.isdir() else os.path.dirname(at), exist_ok=True)
        if member.issym():
            continue
        modes.append((at, member.mode & 0o777))
        content = tar.extractfile(member)
        if content is not None:
            with open(at, "xb") as f:
                shutil.copyfileobj(content, f)
    made = [(os.path.join(directory, *name), target) for name, target in links.items()]
    for at, target in made:
        os.symlink(target, at)
    top = os.path.realpath(directory)
    for at, target in made:  # a file system that folds names may follow other links than the archive has
        if os.path.commonpath([top, os.path.realpath(at)]) != top:
            for entry in list(os.scandir(directory)):
                shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
            raise ProtocolError("the link %r leads out of the directory, to %r" % (at, target))
    for at, mode in reversed(modes):
        os.chmod(at, mode)


class Process:
    """A process of a living sandbox."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self._client, self._path = sandbox._client, sandbox._path + "/processes/" + urllib.parse.quote(name, safe="")

    def info(self) -> ProcessInfo:
        """How it stands. result is set once it has ended."""
        return self._client._one(ProcessInfo, "GET", self._path)

    def read(self, offset: int = -1, *, wait: Seconds = 0) -> ProcessOutput:
        """Read what it has written from an offset on, by default the first byte that is kept; wait for that for some seconds, at most 60."""
        query = urllib.parse.urlencode({"offset": offset, "wait": wait})
        return self._client._one(ProcessOutput, "GET", self._path + "/output?" + query)

    def wait(self) -> ProcessInfo:
        """Wait until it ends."""
        at = 1 << 62
        while self.read(at, wait=min(20, self._client._timeout or 20) / 2).running:
            pass
        return self.info()

    def send(self, data: FileContent, *, eof: bool = False) -> None:
        """Send input; eof ends it."""
        raw = data.encode() if isinstance(data, str) else data
        self._client._bytes("POST", self._path + "/stdin" + ("?eof=1" if eof else ""), raw, "application/octet-stream",
                            "application/json", self._client._timeout)

    def signal(self, name: str) -> None:
        """Send a signal, such as "INT"; "KILL" ends what it has started in its session, too."""
        self._client._call("POST", self._path + "/signal", {"signal": name})

    def resize(self, rows: int, cols: int) -> None:
        """Change the size of its terminal."""
        self._client._call("POST", self._path + "/resize", {"rows": rows, "cols": cols})

    def close(self) -> None:
        """End it, and forget its output."""
        self._client._call("DELETE", self._path)


class Sandbox:
    """A work area of brigd's: /input (read-only in runs), /work and /output, kept from run to run."""

    def __init__(self, client: Client, id: str) -> None:
        self._client, self.id = client, id
        self._path = "/v1/sandboxes/" + urllib.parse.quote(id, safe="")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        try:
            self.close()
        except BrigError:
            if kind is None:
                raise

    def info(self) -> SandboxInfo:
        """How it stands: quota, what is used, when it expires."""
        return self._client._one(SandboxInfo, "GET", self._path)

    def run(self, code: Optional[str] = None, *, language: Optional[str] = None, cmd: Optional[Sequence[str]] = None, **options: Any) -> Result:
        """Run code or a command in it: as Client.run."""
        return self._client.run(code, language=language, cmd=cmd, sandbox=self.id, **options)

    def stream(self, code: Optional[str] = None, *, language: Optional[str] = None, cmd: Optional[Sequence[str]] = None, **options: Any) -> Stream:
        """Run code or a command in it: as Client.stream."""
        return self._client.stream(code, language=language, cmd=cmd, sandbox=self.id, **options)

    def start(self, shell: Optional[str] = None, *, cmd: Optional[Sequence[str]] = None, tag: Optional[str] = None,
              env: Optional[Mapping[str, str]] = None, secrets: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
              tty: Optional[Tuple[int, int]] = None, stdin: bool = False, timeout: Optional[Seconds] = None,
              strip: Optional[str] = None) -> Process:
        """Start a process in a living sandbox: a line of the shell, or a command. It goes on until it ends, or the sandbox does. tty is rows and columns of a terminal."""
        body = {k: v for k, v in {"shell": shell, "cmd": cmd and list(cmd), "tag": tag, "env": env and dict(env),
                                  "secrets": secrets and dict(secrets), "cwd": cwd, "stdin": stdin or None,
                                  "tty": tty and {"rows": tty[0], "cols": tty[1]}, "timeout": timeout,
                                  "strip": strip}.items() if v is not None}
        return Process(self, self._client._one(ProcessInfo, "POST", self._path + "/processes", body).id)

    def live(self, *, image: Optional[str] = None, network: Optional[Sequence[str]] = None, memory: Optional[Size] = None,
             cpus: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> SandboxInfo:
        """Make it a living sandbox, with its files as they are; or again, if its box has ended."""
        body = {k: v for k, v in {"image": image, "network": network and list(network), "memory": memory, "cpus": cpus,
                                  "env": env and dict(env)}.items() if v is not None}
        return self._client._one(SandboxInfo, "POST", self._path + "/live", body)

    def process(self, name: Union[str, int]) -> Process:
        """A process by its tag, pid or id."""
        return Process(self, str(name))

    def processes(self) -> List[ProcessInfo]:
        """List the processes that calls have started, those that have ended lately, too."""
        return _list(ProcessInfo, _json(self._client._call("GET", self._path + "/processes")), "processes")

    def port(self, number: int) -> str:
        """Return the URL of a port: with brigd's --port-host one that a browser opens once, else a path for calls like any other."""
        return _field(self._client._call("POST", "%s/ports/%d" % (self._path, number)), "url", str)

    def freeze(self) -> None:
        """Stop the processes of a living sandbox until the next call that uses one."""
        self._client._call("POST", self._path + "/freeze")

    def thaw(self) -> None:
        """Let them go on."""
        self._client._call("POST", self._path + "/thaw")

    def snapshot(self) -> SnapshotInfo:
        """Keep its files as they are: Client.sandbox(snapshot=ID) makes others with them."""
        return self._client._one(SnapshotInfo, "POST", self._path + "/snapshot")

    def _file(self, path: Union[str, bytes]) -> str:
        raw = path if isinstance(path, bytes) else path.encode("utf-8", "surrogateescape")
        if raw.startswith((b"input/", b"work/", b"output/")):
            raise ValueError("%r is a relative path, which is below /work: write %r, or %r"
                             % (path, b"/" + raw, b"/work/" + raw))
        if not raw.startswith(b"/"):
            raw = b"/work/" + raw
        return self._path + "/files" + urllib.parse.quote(raw, safe="/")

    def put(self, path: Union[str, bytes], content: Union[FileContent, IO[bytes]], *, mode: int = 0o644) -> FileInfo:
        """Write a file: an absolute path as the jail sees it, or one below /work. mode is its permissions."""
        data = content.encode() if isinstance(content, str) else content
        where = self._file(path) + ("" if mode == 0o644 else "?mode=%o" % mode)
        text = self._client._bytes("PUT", where, data, "application/octet-stream", "application/json",
                                   self._client._timeout)
        return _load(FileInfo, _json(text))

    def read(self, path: Union[str, bytes]) -> bytes:
        """Read a regular file."""
        return self._client._bytes("GET", self._file(path), None, "", "*/*", self._client._timeout)

    def read_text(self, path: Union[str, bytes]) -> str:
        """Read a text; bytes that are no UTF-8 become U+FFFD."""
        return self.read(path).decode("utf-8", "replace")

    def upload_tree(self, directory: str, path: str = "/work") -> int:
        """Write what is in a directory of this machine below path, with its permissions; returns how many files there were.

        Symbolic links are kept as links; devices, FIFOs and sockets are left out. brigd bounds files and bytes.
        """
        def chosen(member: tarfile.TarInfo) -> Optional[tarfile.TarInfo]:
            return member if member.isreg() or member.isdir() or member.issym() or member.islnk() else None

        with tempfile.TemporaryFile() as archive:
            with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in sorted(os.listdir(directory)):
                    tar.add(os.path.join(directory, name), arcname=name, filter=chosen)
            size = archive.tell()
            archive.seek(0)
            where = self._path + "/tree?" + urllib.parse.urlencode({"path": path})
            text = self._client._bytes("PUT", where, archive if size else b"", "application/x-tar", "application/json", self._client._timeout)
        return _field(text, "files", int)

    def download_tree(self, directory: str, path: str = "/work") -> None:
        """Read all that is below path into a directory of this machine, which must be empty or missing.

        What a program has written is not trusted: a link that leads out of the directory is refused, and so is any other
        name that does. Permissions are kept.
        """
        os.makedirs(directory, exist_ok=True)
        if os.listdir(directory):
            raise ValueError("%s is not empty: name a new directory" % directory)
        where = self._path + "/tree?" + urllib.parse.urlencode({"path": path})
        connection, answer = self._client._send("GET", where, None, "", "*/*", self._client._timeout)
        try:
            with tempfile.TemporaryFile() as archive:
                shutil.copyfileobj(answer, archive)
                archive.seek(0)
                with tarfile.open(fileobj=archive, mode="r:") as tar:
                    _extract(tar, directory)
        except http.client.HTTPException as e:
            raise Unreachable("the archive broke off: %s" % (e or type(e).__name__)) from e
        except tarfile.TarError as e:
            raise ProtocolError("brigd's answer is no whole archive: %s" % e) from e
        finally:
            connection.close()

    def list(self, path: str = "/work", *, recursive: bool = False) -> List[FileInfo]:
        """List a directory, or everything below it. It asks brigd as often as a complete list needs."""
        found, more = self._page(path, recursive, b"")
        if not more:
            return found
        if recursive:  # more than one answer has: a directory at a time
            todo, found = [path.encode("utf-8", "surrogateescape")], []
            while todo:
                files = self._directory(todo.pop())
                found += files
                todo += [f.raw for f in files if f.type == "dir"]
            return sorted(found, key=lambda f: f.raw)
        return found + self._directory(path, found[-1].raw if found else b"")

    def _directory(self, path: Union[str, bytes], after: bytes = b"") -> List[FileInfo]:
        """List a directory page by page, from behind a path in it."""
        found: List[FileInfo] = []
        more = True
        while more:
            page, more = self._page(path, False, after)
            found += page
            if not page or page[-1].raw <= after:
                break
            after = page[-1].raw
        return found

    def _page(self, path: Union[str, bytes], recursive: bool, after: bytes) -> Tuple[List[FileInfo], bool]:
        query: Dict[str, Union[str, bytes]] = {"path": path, "recursive": "1" if recursive else "0"}
        if after:
            query["after"] = after
        encoded = urllib.parse.urlencode(query, errors="surrogateescape")
        text = self._client._call("GET", self._path + "/files?" + encoded)
        return _list(FileInfo, _json(text), "files"), _field(text, "more", bool)

    def allowed(self, path: str, write: bool = False) -> bool:
        """Say whether a run in the sandbox could read a path, or write it, as the kernel would answer there, now."""
        query = urllib.parse.urlencode({"path": path, "write": "1" if write else "0"})
        return _field(self._client._call("GET", self._path + "/allowed?" + query), "allowed", bool)

    def _tool(self, method: str, name: str, body: Any = None, **query: Union[str, bytes, None]) -> bytes:
        """Ask for a tool of files. What is None is left out of the query."""
        encoded = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None}, errors="surrogateescape")
        return self._client._call(method, self._path + "/" + name + "?" + encoded, body)

    def stat(self, path: Union[str, bytes]) -> FileInfo:
        """Describe a file of any type; of a symbolic link, the link."""
        return _load(FileInfo, _json(self._tool("GET", "stat", path=path)))

    def mkdir(self, path: Union[str, bytes], *, mode: int = 0o755) -> FileInfo:
        """Make a directory, and missing ones above it. One that is there already stays as it is."""
        return _load(FileInfo, _json(self._tool("POST", "mkdir", path=path, mode="%o" % mode)))

    def move(self, path: Union[str, bytes], to: Union[str, bytes], *, overwrite: bool = False) -> FileInfo:
        """Rename a file or directory. With overwrite it may replace a file, or an empty directory."""
        return _load(FileInfo, _json(self._tool("POST", "move", path=path, to=to, overwrite="1" if overwrite else None)))

    def chmod(self, path: Union[str, bytes], mode: int) -> FileInfo:
        """Set the permissions of a file or directory."""
        return _load(FileInfo, _json(self._tool("POST", "chmod", path=path, mode="%o" % mode)))

    def edit(self, path: Union[str, bytes], old: str, new: str, *, all: bool = False) -> int:
        """Replace a text of a file that occurs once, or with all wherever it occurs; returns how often."""
        return _field(self._tool("POST", "edit", {"old": old, "new": new, "all": all}, path=path), "replaced", int)

    def glob(self, pattern: Union[str, bytes], path: Union[str, bytes, None] = None, *, max: int = 1000) -> List[FileInfo]:
        """Find files by a pattern such as "**/*.{go,py}", below path, which is /work if left out: at most max."""
        return _list(FileInfo, _json(self._tool("GET", "glob", pattern=pattern, path=path, max=str(max))), "files")

    def grep(self, pattern: str, path: Union[str, bytes, None] = None, *, glob: Union[str, bytes, None] = None,
             ignore_case: bool = False, max: int = 1000) -> Found:
        """Find the lines that a regular expression (RE2) matches, in a file or below a directory, /work if left out."""
        return _load(Found, _json(self._tool("GET", "grep", pattern=pattern, path=path, glob=glob, max=str(max),
                                             ignore_case="1" if ignore_case else None)))

    def watch(self, path: Union[str, bytes] = "/work", *, recursive: bool = False) -> Watch:
        """Watch a directory, or everything below it: iterate over what happens to the files."""
        query = urllib.parse.urlencode({"path": path, "recursive": "1" if recursive else "0"}, errors="surrogateescape")
        connection, answer = self._client._send("GET", self._path + "/watch?" + query, None, "", "application/x-ndjson", None)
        return Watch(connection, answer)

    def delete(self, path: Union[str, bytes]) -> None:
        """Remove a file, or a directory with everything in it."""
        self._client._call("DELETE", self._file(path))

    def close(self) -> None:
        """End what runs in it and delete it. One that is gone already is no error."""
        try:
            self._client._call("DELETE", self._path)
        except NotFound:
            pass


def main(argv: Optional[Sequence[str]] = None) -> int:
    """A small command line: python3 brig.py run [--language L] [--timeout S] [-e CODE | FILE | -- COMMAND [ARG...]]."""
    parser = argparse.ArgumentParser(prog="brig.py", description="Run something in brigd's jail and show what it says as it says it.")
    parser.add_argument("--socket", help="brigd's Unix socket")
    parser.add_argument("--peer-uid", type=int, help="who may serve the socket besides root and you")
    parser.add_argument("--url", help="brigd's URL, with a token in $BRIGD_TOKEN")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("languages", help="list the languages that work there")
    run = verbs.add_parser("run", help="run code from a file, code, or a command")
    run.add_argument("--language", default="python")
    run.add_argument("--timeout", help='seconds, or a text like "1m30s"')
    run.add_argument("-e", dest="code", metavar="CODE", help="the code itself")
    run.add_argument("words", nargs="*", metavar="FILE | -- COMMAND [ARG...]")
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[words.index("--") + 1:] if "--" in words else None
    options = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    try:
        client = Client(options.socket, options.url, peer_uid=options.peer_uid)
        if options.verb == "languages":
            for language in client.languages():
                print(language.language, language.version, language.path, sep="\t")
            return 0
        code = options.code
        if command is None and code is None:
            if len(options.words) != 1:
                parser.error("give one file, -e CODE, or -- COMMAND")
            with open(options.words[0], encoding="utf-8") as f:
                code = f.read()
        stream = client.stream(code, language=options.language if command is None else None, cmd=command, timeout=options.timeout,
                               strip="all" if sys.stdout.isatty() else None)  # a program may not drive the terminal
        return _show(stream)
    except (BrigError, OSError, ValueError) as e:
        print("brig.py: %s" % e, file=sys.stderr)
        return 125


def _show(stream: Stream) -> int:
    with stream:
        for event in stream:
            if event.type in ("stdout", "stderr"):
                to = sys.stdout if event.type == "stdout" else sys.stderr
                to.write(event.data)
                to.flush()
    result = stream.result
    if result is None or result.error:
        print("brig.py: %s" % (result.error if result else "no result"), file=sys.stderr)
        return 125
    if result.status not in ("ok", "failed"):
        print("brig.py: %s" % result.status, file=sys.stderr)
    return result.exit_code if result.exit_code >= 0 else 124 if result.timed_out else 128


if __name__ == "__main__":
    sys.exit(main())
