"""Tests of the client. Those of Server need brigd: BRIG_TEST_SOCKET names its socket."""

from __future__ import annotations

import ast
import http.server
import importlib.util
import inspect
import io
import json
import os
import pathlib
import shutil
import socket
import struct
import tarfile
import tempfile
import threading
import typing
import unittest
import unittest.mock
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Callable, Dict, List, Optional, Tuple

import brig

HERE = pathlib.Path(__file__).resolve().parent.parent
SOCKET = os.environ.get("BRIG_TEST_SOCKET", "")
OPENAPI = os.environ.get("BRIG_TEST_OPENAPI", "")

Answer = Tuple[int, Dict[str, str], bytes]


class Script:
    """A server that gives prepared answers, to whatever is asked."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: List[Tuple[str, str, Dict[str, str], bytes]] = []
        script, left = self, list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                script.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, text = left.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = do

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def refusal(status: int, code: str, **headers: str) -> Answer:
    body = {"error": "no", "code": code, "layer": "queue", "next_steps": ["wait"]}
    return status, {k.replace("_", "-"): v for k, v in headers.items()}, json.dumps(body).encode()


OK: Answer = (200, {}, b'{"id":"run_1","status":"ok","exit_code":0,"stdout":"x","new_field":1}')


class Protocol(unittest.TestCase):
    def client(self, script: Script, **options: Any) -> Tuple[brig.Client, List[float]]:
        client, slept = brig.Client(url=script.url, token="t", **options), []
        client._sleep = slept.append
        return client, slept

    def test_waits_and_tries_again(self) -> None:
        with Script(refusal(429, "queue_full", Retry_After="2"), refusal(503, "draining", Retry_After="1"), OK) as script:
            client, slept = self.client(script)
            result = client.run("1")
            self.assertEqual((result.stdout, result.to_dict()), ("x", {"status": "ok", "exit_code": 0, "stdout": "x"}))
        self.assertEqual(len(script.asked), 3)
        self.assertTrue(2 <= slept[0] <= 2.5 and 1 <= slept[1] <= 1.25, slept)
        self.assertEqual(len({a[3] for a in script.asked}), 1)
        self.assertEqual(script.asked[0][2]["Authorization"], "Bearer t")

    def test_mounts(self) -> None:
        mounts = [{"share": "repo", "target": "/code", "protect": [".git/hooks"]}]
        with Script(OK) as script:
            self.client(script)[0].run("1", mounts=mounts)
        self.assertEqual(json.loads(script.asked[0][3])["mounts"], mounts)

    def test_gives_up(self) -> None:
        for answers, options in (([refusal(429, "queue_full", Retry_After="1")] * 3, {"retries": 2}), ([refusal(429, "queue_full", Retry_After="9999")], {}),
                                 ([refusal(429, "too_many_sandboxes")], {})):
            with Script(*answers) as script:
                client, slept = self.client(script, **options)
                with self.assertRaises(brig.TryAgain) as no:
                    client.run("1")
            self.assertEqual((len(script.asked), no.exception.next_steps), (len(answers), ["wait"]))

    def test_refusals_are_not_repeated(self) -> None:
        for status, kind in ((400, brig.Refused), (401, brig.Unauthorized), (403, brig.Unauthorized), (404, brig.NotFound), (507, brig.Refused)):
            with Script(refusal(status, "c")) as script:
                client, _ = self.client(script)
                with self.assertRaises(kind) as no:
                    client.run("1")
                self.assertEqual((no.exception.status, no.exception.code, no.exception.to_dict()["layer"]), (status, "c", "queue"))

    def test_strange_answers(self) -> None:
        good = b'{"id":"r","status":"ok"'
        for text in (b"no json", b"[]", b"{}", b"null", b"[1]", b"[" * 100000, good + b',"violations":5}', good + b',"violations":[1]}', good + b',"denials":[1]}', good + b',"truncated":[]}',
                     good + b',"exit_code":"0"}', good + b',"stdout":7}', good + b',"usage":[]}', b"\xff", b""):
            calls: List[Callable[[brig.Client], Any]] = [lambda c: c.run("1"), lambda c: c.languages(), lambda c: c.version(), lambda c: c.sandboxes(),
                                                         lambda c: brig.Sandbox(c, "s").list(), lambda c: brig.Sandbox(c, "s").allowed("x")]
            for call in calls:
                with Script((200, {}, text)) as script:
                    client, _ = self.client(script)
                    with self.assertRaises(brig.ProtocolError, msg=text[:60]):
                        call(client)
        for status, headers, body in ((502, {}, b"<html>"), (502, {}, b"[" * 100000), (429, {"Retry-After": "\u00b2"}, b'{"error":"no","next_steps":5}')):
            with Script((status, headers, body)) as script:
                client, _ = self.client(script)
                with self.assertRaises(brig.Refused):
                    client.run("1")
        with self.assertRaises(brig.Unreachable):
            brig.Client(socket="/nonexistent/brigd.sock").version()

    def test_answer_that_breaks_off(self) -> None:
        with Script((200, {"Content-Length": "100"}, b"short")) as script:
            client, _ = self.client(script)
            with self.assertRaises(brig.Unreachable):
                brig.Sandbox(client, "sb").read("x")

    def test_stream_that_breaks_off(self) -> None:
        for text in (b"", b'{"type":"start","id":"run_1"}\n', b'{"type":"stdout","data":"x"'):
            with Script((200, {}, text)) as script:
                client, _ = self.client(script)
                with self.assertRaises(brig.Unreachable):
                    client.stream("1").wait()

    def test_names_cannot_leave_their_place(self) -> None:
        answer: Answer = (200, {}, b"x")
        with Script(*[answer] * 3) as script:
            client, _ = self.client(script)
            box = brig.Sandbox(client, "a/../b?c\r\nX: y")
            box.read("a b/ü?#%\r\n")
            box.read(b"/output/\xff")
            box.read("../x")
        paths = [a[1] for a in script.asked]
        self.assertEqual(paths[0], "/v1/sandboxes/a%2F..%2Fb%3Fc%0D%0AX%3A%20y/files/work/a%20b/%C3%BC%3F%23%25%0D%0A")
        self.assertTrue(paths[1].endswith("/files/output/%FF") and paths[2].endswith("/files/work/../x"), paths)

    def test_wrong_arguments(self) -> None:
        calls: List[Callable[[], Any]] = [
            lambda: brig.Client("s").run(), lambda: brig.Client("s").run("1", cmd=["a"]), lambda: brig.Client("s").run(cmd="ls -l"),
            lambda: brig.Client("s", "http://localhost"), lambda: brig.Client(url="ftp://x"), lambda: brig.Client(url="http://example.org"),
            lambda: brig.Client(url="https://u:p@x"), lambda: brig.Client("s").run("1", timeout=float("nan")), lambda: brig.Client("s").run("1", cpus=float("inf")),
            lambda: brig.Client("s").run("1", env={"A": float("nan")}), lambda: brig.Sandbox(brig.Client("s"), "b").put("input/d", b""),  # type: ignore[dict-item]
        ]
        for call in calls:
            self.assertRaises(ValueError, call)

    def test_files_become_text_or_base64(self) -> None:
        with Script(OK) as script:
            client, _ = self.client(script)
            client.run(cmd=["id"], files={"a": "text", "b": b"\xff"}, timeout=3, memory=None)
        self.assertEqual(json.loads(script.asked[0][3]), {"cmd": ["id"], "files": {"a": "text", "b": {"base64": "/w=="}}, "timeout": 3})


class Early:
    """A server that answers before it has read the body, and closes; or does not answer at all."""

    def __init__(self, where: str, answer: Optional[bytes]) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(where)
        self.socket.listen()
        self.answer, self.got = answer, b""
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            self.got = connection.recv(1 << 16)
            if self.got and self.answer is not None:
                connection.sendall(self.answer)
                return
            while connection.recv(1 << 16):
                pass

    def __enter__(self) -> Early:
        return self

    def __exit__(self, *_: Any) -> None:
        self.thread.join()
        self.socket.close()


class Socket(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = directory.name + "/brigd.sock"

    def test_a_refusal_before_the_end_of_the_body_is_read(self) -> None:
        for status, code in ((413, "body_too_large"), (507, "disk_full"), (404, "not_found")):
            text = json.dumps({"error": "no", "code": code, "layer": "request"}).encode()
            with Early(self.path, b"HTTP/1.1 %d No\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(text), text)):
                with self.assertRaises(brig.Refused) as no:
                    brig.Sandbox(brig.Client(self.path), "sb").put("/work/big", b"a" * (64 << 20))
            self.assertEqual((no.exception.status, no.exception.code), (status, code))
            os.remove(self.path)

    def test_a_server_that_is_silent(self) -> None:
        with Early(self.path, None):
            with self.assertRaises(brig.Unreachable):
                brig.Client(self.path, read_timeout=0.1).run("1", timeout="10ms")
        client = brig.Client(self.path, read_timeout=5)
        waits = [client._run_timeout(t) for t in (None, 2, 1.5, "90", "1m30s", "1h", "2.5s", "500ms", "...", "x")]
        self.assertEqual(waits, [5, 7, 6.5, 95, 95, 3605, 7.5, 5.5, 5, 5])
        self.assertIsNone(brig.Client(self.path, read_timeout=None)._run_timeout(1))

    def test_only_brigd_is_told_anything(self) -> None:
        me = os.geteuid()
        for uid, options, trusted in ((me, {}, True), (0, {}, True), (12345, {}, False), (12345, {"peer_uid": 12345}, True), (12345, {"peer_uid": 1}, False)):
            client = brig.Client(self.path, token="t", **options)
            with unittest.mock.patch("socket.socket.getsockopt", return_value=struct.pack("3i", 1, uid, uid)), Early(self.path, b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n") as server:
                with self.assertRaises(brig.NotFound if trusted else brig.Untrusted) as why:
                    client.run("1", secrets={"KEY": "sk-victim"})
            self.assertEqual(bool(server.got), trusted, why.exception)
            os.remove(self.path)

    def test_the_default_socket_is_in_a_directory_of_ones_own(self) -> None:
        directory = os.path.dirname(self.path)
        with unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory):
            for mode in (0o777, 0o755, 0o710, 0o701):
                os.chmod(directory, mode)
                with self.assertRaises(brig.Untrusted):
                    brig.Client().version()
            os.chmod(directory, 0o700)
            with self.assertRaises(brig.Unreachable):  # nothing is there
                brig.Client().version()
            with unittest.mock.patch("os.geteuid", return_value=os.geteuid() + 1), self.assertRaises(brig.Untrusted):
                brig.Client().version()
            os.symlink(directory, directory + "/link")
        with unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory + "/link"), self.assertRaises(brig.Untrusted):
            brig.Client().version()

    def test_the_socket_of_the_package_is_taken_if_there_is_no_other(self) -> None:
        own = os.path.dirname(self.path) + "/own"
        os.mkdir(own, 0o700)
        answer = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
        with unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=own), unittest.mock.patch.object(brig, "_PACKAGED", self.path):
            for directory in (own, own + "/missing"):
                with unittest.mock.patch.dict(os.environ, XDG_RUNTIME_DIR=directory), Early(self.path, answer), self.assertRaises(brig.NotFound):
                    brig.Client().version()
                os.remove(self.path)
            with self.assertRaises(brig.Unreachable) as why:  # nobody is anywhere
                brig.Client().version()
            self.assertIn("is brigd running?", str(why.exception))
            with open(self.path, "w"), unittest.mock.patch("socket.socket.connect", side_effect=[ConnectionRefusedError(), PermissionError("no")]):
                with self.assertRaises(brig.Unreachable) as why:  # closed to the caller
                    brig.Client().version()
            self.assertIn("allow_uids", str(why.exception))
        os.remove(self.path)
        uid = os.geteuid() + 1
        with unittest.mock.patch("socket.socket.getsockopt", return_value=struct.pack("3i", 1, 0, 0)), unittest.mock.patch("os.geteuid", return_value=uid):
            with Early(self.path, b""), self.assertRaises(brig.Unreachable) as why:  # it closes the connection
                brig.Client(self.path).version()
        self.assertIn("admits user %d once its operator adds that to --allow-uid" % uid, str(why.exception))


class Source(unittest.TestCase):
    def test_everything_public_is_annotated_and_documented(self) -> None:
        n = 0
        for name in brig.__all__:
            thing = getattr(brig, name)
            self.assertTrue(inspect.getdoc(thing), name)
            members = [thing] if inspect.isfunction(thing) else [m for k, m in vars(thing).items() if inspect.isfunction(m) and (k[0] != "_" or k == "__init__")]
            for f in members:
                hints = typing.get_type_hints(f, vars(brig))
                missing = [p for p in inspect.signature(f).parameters if p != "self" and p not in hints]
                self.assertFalse(missing or "return" not in hints, (name, f.__name__, missing))
                if f.__name__[0] != "_":
                    self.assertTrue(inspect.getdoc(f), (name, f.__name__))
                n += 1
        self.assertGreater(n, 30)

    def test_examples_import_without_their_frameworks(self) -> None:
        files = sorted((HERE / "examples").glob("*.py"))
        self.assertGreater(len(files), 5)
        for path in files:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec and spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            self.assertTrue(callable(module.main), path)

    def test_standard_library_only(self) -> None:
        tree = ast.parse((HERE / "brig.py").read_text(), feature_version=(3, 9))
        names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        known = {"__future__", "argparse", "base64", "dataclasses", "http", "ipaddress", "json", "os", "random", "re", "shutil", "socket", "ssl", "stat", "struct", "sys", "tarfile", "tempfile", "time", "types", "typing", "urllib"}
        self.assertFalse(names - known)

    @unittest.skipUnless(OPENAPI, "BRIG_TEST_OPENAPI does not name docs/openapi.json")
    def test_fields_are_those_of_the_document(self) -> None:
        schemas = json.loads(pathlib.Path(OPENAPI).read_text())["components"]["schemas"]
        for kind, name in ((brig.Result, "Response"), (brig.Event, "Event"), (brig.SandboxInfo, "SandboxInfo"), (brig.ProcessInfo, "ProcessInfo"), (brig.ProcessOutput, "ProcessOutput"), (brig.SnapshotInfo, "SnapshotInfo"), (brig.FileInfo, "Entry"), (brig.Found, "Found"), (brig.Line, "Line"), (brig.Notice, "Notice"), (brig.Language, "Language"), (brig.Share, "ShareInfo"), (brig.Image, "ImageInfo"), (brig.ChangeSet, "ChangeSet"), (brig.Applied, "Applied"),
                           (brig.Violation, "Violation"), (brig.Truncated, "Truncated")):
            self.assertEqual({f.name for f in brig.dataclasses.fields(kind)}, set(schemas[name]["properties"]), name)
        request = set(schemas["Request"]["properties"]) - {"agent_id"}
        self.assertEqual(set(inspect.signature(brig.Client.run).parameters) - {"self"}, request)
        self.assertEqual(set(inspect.signature(brig.Client.stream).parameters) - {"self", "interactive"}, request - {"max_output"})
        self.assertEqual(set(inspect.signature(brig.Client.sandbox).parameters) - {"self"},
                         set(schemas["SandboxRequest"]["properties"]) - {"agent_id", "from"} | {"snapshot"})  # from is a word of Python


class Archives(unittest.TestCase):
    """What a program has left as a tree becomes files below one directory, and nothing that leads out of it."""

    def extract(self, *members: Tuple[str, str]) -> Tuple[str, Optional[str]]:
        """Extract an archive: "d" is a directory, "f" a file, "h X" a hard link to X, and "l X" a symbolic link to X."""
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, what in members:
                info = tarfile.TarInfo(name)
                info.mode = 0o755
                info.linkname = what[2:]
                info.type = {"d": tarfile.DIRTYPE, "f": tarfile.REGTYPE, "h": tarfile.LNKTYPE, "l": tarfile.SYMTYPE}[what[0]]
                tar.addfile(info)
        data.seek(0)
        top = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(top))
        out = os.path.join(top, "out")
        os.mkdir(out)
        pathlib.Path(top, "secret").write_text("the host's")
        with tarfile.open(fileobj=data) as tar:
            try:
                brig._extract(tar, out)
            except brig.ProtocolError as e:
                self.assertEqual(os.listdir(out), [], "something is left of what was refused")
                return out, str(e)
        return out, None

    def test_links_that_lead_out(self) -> None:
        deep = [("a", "d"), ("a/b", "d"), ("a/b/c", "d")]
        for members in (
            deep + [("a/b/c/up", "l ../../.."), ("a/b/c/w", "l up/../secret"), ("report", "l a/b/c/w")],
            deep + [("report", "l a/b/c/up/../secret"), ("a/b/c/up", "l ../../..")],  # the way is named before the link
            deep + [("up", "l a/b/../../.."), ("x", "l up/secret")],
            deep + [("x", "l a/up/../../secret"), ("a/up", "l b/c/../..")],
            deep + [("x", "l y/../secret"), ("y", "l z/."), ("z", "l .")],
            deep + [("x", "l y/../../../secret"), ("y", "l a/b"), ("a/b/l", "l .")],
            deep + [("x", "l a/../../out/secret")],  # out and in again
            [("x", "l ../secret")], [("x", "l ..")], [("x", "l ./../secret")], [("x", "l .//..//secret")],
            [("x", "l no/such/../../../secret")],
            [("x", "l /etc/hostname")], [("x", "l //etc")],
            [("x", "l .."), ("x/secret", "f")], [("x/secret", "f"), ("x", "l ..")],
            [("x", "l a"), ("x/y", "f")], [("x", "l a"), ("x", "f")], [("x", "f"), ("x", "l a")],
            [("f", "f"), ("f/g", "f")],
            [("x", "h ../secret")], [("a", "d"), ("f", "f"), ("x", "h f")],
            [("../x", "f")], [("a/../../x", "f")], [("/x", "f")], [("a/..", "l secret")], [("", "f")],
        ):
            out, refused = self.extract(*members)
            self.assertIsNotNone(refused, "%r: %r" % (members, os.listdir(out)))

    def test_links_that_stay(self) -> None:
        out, refused = self.extract((".", "d"), ("./a", "d"), ("./a/b", "d"), ("./a/b/f", "f"), ("to-top", "l ."),
                                    ("a/up", "l .."), ("a/b/again", "l ../../a/up/a/b/f"), ("there", "l to-top/a/b/../b/f"),
                                    ("nowhere", "l a/gone"), ("round", "l a/round"), ("a/round", "l ../round"), ("a", "d"))
        self.assertIsNone(refused)
        for name in ("a/b/again", "there"):
            self.assertEqual(os.path.realpath(os.path.join(out, name)), os.path.realpath(os.path.join(out, "a/b/f")))
        self.assertEqual(os.readlink(os.path.join(out, "there")), "to-top/a/b/../b/f")

    def test_links_as_the_file_system_reads_them(self) -> None:
        real = os.path.realpath
        with unittest.mock.patch("os.path.realpath", lambda p: "/elsewhere" if str(p).endswith("/X") else real(p)):
            out, refused = self.extract(("x", "d"), ("X", "l x"))
        self.assertIn("leads out", str(refused))


@unittest.skipUnless(SOCKET, "BRIG_TEST_SOCKET does not name brigd's socket")
class Server(unittest.TestCase):
    def setUp(self) -> None:
        self.client = brig.Client(SOCKET)

    def test_run(self) -> None:
        result = self.client.run("import sys\nprint(6 * 7, sys.argv[1], open('/input/f').read())\nsys.exit(3)", args=["ü"], files={"f": "hello"}, timeout=20)
        self.assertEqual((result.status, result.exit_code, result.stdout, result.ok), ("failed", 3, "42 ü hello\n", False))
        self.assertEqual(self.client.run(cmd=["cat"], stdin="in", timeout=20).stdout, "in")
        refused = self.client.run(cmd=["unshare", "-m", "true"], timeout=20)
        self.assertEqual([(d.layer, d.name, d.count) for d in refused.denials], [("syscall", "unshare", 1)])
        self.assertIn("namespaces", refused.to_dict()["denials"][0]["why"])
        self.assertIn("usage", vars(result))

    def test_refusals(self) -> None:
        with self.assertRaises(brig.Refused) as no:
            self.client.run("x", language="klingon")
        self.assertTrue(no.exception.next_steps and no.exception.status == 400, no.exception)
        with self.assertRaises(brig.NotFound):
            self.client.open_sandbox("sb_unknown")

    def test_stream_and_input(self) -> None:
        code = "print('name?', flush=True)\nprint('hello', input(), flush=True)"
        with self.client.stream(code, interactive=True, timeout=30) as run:
            said = ""
            for event in run:
                said += event.data
                if said == "name?\n" and event.type == "stdout":  # one write may come in several events
                    self.assertEqual(run.send("brig\n", eof=True), 5)
        assert run.result
        self.assertEqual((said, run.result.status), ("name?\nhello brig\n", "ok"))

    def test_cancel(self) -> None:
        with self.client.stream(cmd=["sleep", "60"], timeout=90) as run:
            for event in run:
                if event.type == "start":
                    run.cancel()
        assert run.result
        self.assertEqual(run.result.status, "cancelled")
        run.cancel()  # what has ended stays so

    def test_port(self) -> None:
        with self.client.sandbox(living=True) as box:
            box.start("exec python3 -m http.server")
            try:
                self.assertTrue(box.port(8000).endswith("/v1/sandboxes/%s/ports/8000/" % box.id))
            except brig.Refused as refused:  # the sandbox is at a worker of a queue
                self.assertEqual(refused.code, "port_elsewhere")
            with self.assertRaises(brig.Refused) as no:
                box.port(0)
            self.assertEqual(no.exception.code, "bad_port")

    def test_sandbox(self) -> None:
        with self.client.sandbox(disk="8m", ttl="5m", files={"numbers": "3\n1\n2\n"}) as box:
            self.assertTrue(box.run(cmd=["sort", "-o", "/output/sorted", "/input/numbers"], timeout=20).ok)
            self.assertEqual(box.read_text("/output/sorted"), "1\n2\n3\n")
            box.put("note", b"\x00\xff")
            self.assertEqual(box.read("/work/note"), b"\x00\xff")
            self.assertEqual([f.path for f in box.list()], ["/work/note"])
            self.assertEqual(box.put("/work/tool", b"#!/bin/sh\necho works", mode=0o755).mode, "0755")
            self.assertEqual(box.run(cmd=["/work/tool"], timeout=20).stdout, "works\n")
            box.delete("tool")
            self.assertTrue(box.run(cmd=["sh", "-c", "mkdir many && cd many && seq 10500 | xargs touch"], timeout=60).ok)
            self.assertEqual(len(box.list("/work/many")), 10500)
            self.assertEqual(len(box.list(recursive=True)), 10502)
            box.delete("many")
            self.assertIn(box.id, [b.id for b in self.client.sandboxes()])
            self.assertEqual(self.client.open_sandbox(box.id).info().id, box.id)
            snapshot = box.snapshot()
            self.assertEqual((snapshot.sandbox, snapshot.state), (box.id, "idle"))
            box.delete("note")
            with self.client.sandbox(snapshot=snapshot.id) as fork:
                self.assertEqual(fork.read("note"), b"\x00\xff")
            self.assertIn(snapshot.id, [s.id for s in self.client.snapshots()])
            self.client.delete_snapshot(snapshot.id)
            with self.assertRaises(brig.NotFound):
                self.client.sandbox(snapshot=snapshot.id)
            with self.assertRaises(brig.NotFound):
                box.read("note")
            with self.assertRaises(brig.Refused):
                box.read("../../etc/passwd")
        with self.assertRaises(brig.NotFound):
            box.info()

    def test_file_tools(self) -> None:
        with self.client.sandbox(disk="8m", ttl="5m") as box:
            box.put("f", "one two two")
            self.assertEqual(box.mkdir("d/e", mode=0o700).mode, "0700")
            self.assertEqual((box.edit("f", "one", "1"), box.edit("f", "two", "2", all=True)), (1, 2))
            with self.assertRaises(brig.Refused) as no:
                box.edit("f", "2", "3")
            self.assertEqual((no.exception.code, no.exception.status), ("text_not_unique", 409))
            self.assertEqual(box.chmod("f", 0o750).mode, "0750")
            self.assertEqual(box.move("f", b"d/\xff\n").raw, b"/work/d/\xff\n")
            self.assertEqual(box.read(b"d/\xff\n"), b"1 2 2")
            box.put("g", "")
            with self.assertRaises(brig.Refused) as no:
                box.move(b"d/\xff\n", "g")
            self.assertEqual(no.exception.code, "exists")
            self.assertEqual((box.move(b"d/\xff\n", "g", overwrite=True).path, box.stat("g").mode), ("/work/g", "0750"))
            with self.assertRaises(brig.NotFound):
                box.stat("f")
            box.put(b"d/\xff.py", "x\nneedle\n")
            self.assertEqual([f.raw for f in box.glob("**/*.{py,go}")], [b"/work/d/\xff.py"])
            found = box.grep("NEE.LE", "d", glob="*.py", ignore_case=True)
            self.assertEqual([(l.raw, l.line, l.column, l.text) for l in found.lines], [(b"/work/d/\xff.py", 2, 1, "needle")])
            self.assertEqual((found.files, found.binary, found.more), (1, 0, False))
            self.assertTrue(box.grep(".", max=1).more)
            with self.assertRaises(brig.Refused):
                box.grep("(")

    def test_watch(self) -> None:
        with self.client.sandbox(disk="8m", ttl="5m") as box:
            with box.watch(recursive=True) as watch:
                self.assertEqual(next(watch), brig.Notice("watching", "/work", dir=True))
                box.put(b"d/\xff", "x")
                while next(watch).raw != b"/work/d/\xff":
                    pass
                self.assertTrue(box.run(cmd=["mv", "d", "e"], timeout=20).ok)
                found = next(n for n in watch if n.type == "rename")
                self.assertEqual((found.path, found.old_path, found.dir), ("/work/e", "/work/d", True))
            self.assertEqual(list(watch), [])
            last = box.watch()
            box.close()
            self.assertEqual([n.type for n in last], ["watching", "end"])

    def test_trees(self) -> None:
        with tempfile.TemporaryDirectory() as top, self.client.sandbox(disk="8m", ttl="5m") as box:
            here = pathlib.Path(top, "in")
            (here / "sub").mkdir(parents=True)
            (here / "sub" / "tool").write_text("#!/bin/sh\necho works\n")
            (here / "sub" / "tool").chmod(0o755)
            (here / "link").symlink_to("sub/tool")
            os.mkfifo(here / "pipe")
            self.assertEqual(box.upload_tree(str(here), "/work/x"), 3)
            self.assertEqual(box.run(cmd=["/work/x/link"], timeout=20).stdout, "works\n")
            box.download_tree(top + "/out", "/work/x")
            self.assertEqual(os.readlink(top + "/out/link"), "sub/tool")
            self.assertEqual(os.stat(top + "/out/sub/tool").st_mode & 0o777, 0o755)
            with self.assertRaises(ValueError):
                box.download_tree(top + "/out")
            self.assertTrue(box.run(cmd=["sh", "-c", "mkdir evil; ln -s ../../../../etc evil/out"], timeout=20).ok)
            with self.assertRaises(brig.ProtocolError):
                box.download_tree(top + "/bad", "/work/evil")
            with self.assertRaises(brig.NotFound):
                box.download_tree(top + "/none", "/work/none")
        self.assertEqual(self.client.changes(), [])
        self.assertEqual(self.client.shares(), [])
        for call in (lambda: self.client.diff_changes("0" * 64), lambda: self.client.apply_changes("0" * 64), lambda: self.client.discard_changes("0" * 64)):
            with self.assertRaises(brig.NotFound):
                call()

    def test_about(self) -> None:
        self.assertIn("python", [x.language for x in self.client.languages()])
        self.assertTrue(self.client.version())

    def test_command_line(self) -> None:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = brig.main(["--socket", SOCKET, "run", "-e", "import sys; print(1); sys.exit(4)"])
            again = brig.main(["--socket", SOCKET, "run", "--", "echo", "--", "x"])
            wrong = brig.main(["--socket", "/nonexistent", "languages"])
        self.assertEqual((code, again, wrong, out.getvalue()), (4, 0, 125, "1\n-- x\n"), err.getvalue())

    def test_examples(self) -> None:
        spec = importlib.util.spec_from_file_location("plain", HERE / "examples" / "plain.py")
        assert spec and spec.loader
        plain = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(plain)
        self.assertEqual(json.loads(plain.run_python(self.client, "print(6*7)"))["stdout"], "42\n")
        out = io.StringIO()
        with unittest.mock.patch.dict(os.environ, BRIGD_SOCKET=SOCKET), redirect_stdout(out):
            plain.main()
        self.assertIn("ok\n1\n2\n3\n", out.getvalue())
        spec = importlib.util.spec_from_file_location("smol", HERE / "examples" / "smolagents_executor.py")
        assert spec and spec.loader
        smol = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(smol)
        with self.client.sandbox() as box:
            self.assertEqual(smol.run_step(box, "print(1)"), (None, "1\n", False))
            self.assertEqual(smol.run_step(box, "print(2); final_answer({'n': 42})"), ({"n": 42}, "2\n", True))
            with self.assertRaises(RuntimeError):
                smol.run_step(box, "1/0")


if __name__ == "__main__":
    unittest.main()
