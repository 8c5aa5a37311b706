"""The server in each sandbox of ports.mjs: a page, what it sees of a request, a WebSocket, events and a service worker."""
import base64
import hashlib
import http.server
import json


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text, kind="text/html", **headers):
        data = text.encode()
        self.send_response(302 if "Location" in headers else 200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def any(self):
        print(self.command, self.path, dict(self.headers), flush=True)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = self.path.split("?")[0]
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.websocket()
        elif path == "/echo":
            self.answer(json.dumps({"body": body, "headers": {k.lower(): v for k, v in self.headers.items()}}), "application/json")
        elif path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"data: 1\n\n")
            self.close_connection = True
        elif path == "/away":
            self.answer("", Location="http://localhost:8000/page")
        elif path.endswith(".js"):
            self.answer("self.addEventListener('fetch', () => {})", "text/javascript", Service_Worker_Allowed="/")
        else:
            self.answer("page", Set_Cookie="server=1", Access_Control_Allow_Origin="*")

    def websocket(self):
        """Answer as RFC 6455 says, and send one short message back."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())):
            self.send_header(name, value)
        self.end_headers()
        _, length = self.rfile.read(2)
        mask, data = self.rfile.read(4), self.rfile.read(length & 127)
        self.wfile.write(bytes([0x81, len(data)]) + bytes(c ^ mask[i % 4] for i, c in enumerate(data)))
        self.close_connection = True

    def log_message(self, *_):
        """Write nothing: any has."""

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = any


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Server)
print("up", flush=True)
server.serve_forever()
