package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/fakes"
	"brig/internal/test/must"
)

// web is a server for a box. It shows what it sees, sends events, and returns what comes by an upgraded connection.
const web = `
import http.server, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def any(self):
        if self.headers.get("Upgrade") == "websocket":
            self.send_response(101); self.send_header("Upgrade", "websocket"); self.send_header("Connection", "Upgrade")
            self.end_headers()
            while b := self.rfile.read1(1000): self.wfile.write(b)
            return
        if self.path == "/events":
            self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.end_headers()
            for i in range(100): self.wfile.write(b"data: %d\n\n" % i); self.wfile.flush(); time.sleep(.05)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = ("%s %s %d\n%s" % (self.command, self.path, len(body), self.headers)).encode()
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Location", "/v1/sandboxes"); self.send_header("Set-Cookie", "a=b")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PURGE = any
s = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), H); print("up", flush=True); s.serve_forever()
`

// webBox returns a living sandbox with a server at port 8000.
func webBox(t *testing.T, g *rig, c engine.Caller) string {
	t.Helper()
	e := g.s.Engine.(*engine.Engine)
	box := must.Get(e.CreateSandbox(t.Context(), c, &engine.SandboxRequest{Living: true}))(t)
	p := must.Get(e.StartProcess(t.Context(), c, box.ID, &engine.ProcessRequest{Cmd: []string{"python3", "-c", web}}, nil))(t)
	if out := must.Get(e.ProcessOutput(t.Context(), c, box.ID, p.ID, 0, time.Minute))(t); len(out.Output) == 0 {
		t.Fatalf("%+v", out)
	}
	return box.ID
}

func TestRealPorts(t *testing.T) {
	g := newReal(t)
	id := webBox(t, g, engine.Caller{})
	at := "/v1/sandboxes/" + id + "/ports"
	var list PortList
	g.do(200, "GET", at, "").into(t, &list)
	if fmt.Sprint(list.Ports) != "[{8000 [127.0.0.1]}]" {
		t.Error(list)
	}
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/8000/a/b?c=d", "", "GET /a/b?c=d 0\n"}, {"POST", "/8000/", strings.Repeat("x", 1<<20), "POST / 1048576\n"},
		{"DELETE", "/8000/x%2Fy", "", "DELETE /x%2Fy 0\n"}, {"PURGE", "/8000/", "", "PURGE / 0\n"}, {"OPTIONS", "/8000/", "", "OPTIONS / 0\n"},
	} {
		r := plain(t, g, c.method, at+c.path, c.body, "Authorization", "", "Cookie", "a=b", "Brig-Rules", "e30=")
		if r.StatusCode != 200 || !strings.HasPrefix(string(r.text), c.want) || strings.Contains(string(r.text), "Cookie") ||
			strings.Contains(string(r.text), "Brig") || !strings.Contains(string(r.text), "X-Forwarded-Prefix: "+at+"/8000\n") {
			t.Errorf("%s %s: %s %.300s", c.method, c.path, r.Status, r.text)
		}
		if len(r.Cookies()) > 0 || r.Header.Get("Access-Control-Allow-Origin") != "" ||
			!strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Error(r.Header)
		}
	}
	if r := plain(t, g, "GET", at+"/8000/away", ""); r.Header.Get("Location") != at+"/8000/v1/sandboxes" {
		t.Error(r.Header)
	}
	for path, want := range map[string]string{"/8001/": "port_closed", "/0/": "bad_port", "/65536/": "bad_port", "/08000/": "bad_port",
		"/x/": "bad_port"} {
		if r := plain(t, g, "GET", at+path, ""); !strings.Contains(string(r.text), `"code":"`+want+`"`) {
			t.Errorf("%s: %s %s", path, r.Status, r.text)
		}
	}
	upgraded(t, g, at)
}

// upgraded talks to the server by an upgraded connection and by events.
func upgraded(t *testing.T, g *rig, at string) {
	t.Helper()
	c := must.Get(net.Dial("unix", g.socket))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(fmt.Fprintf(c, "GET %s/8000/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", at))(t)
	in := bufio.NewReader(c)
	for line := ""; line != "\r\n"; line = must.Get(in.ReadString('\n'))(t) {
	}
	must.Get(io.WriteString(c, "hello"))(t)
	got := make([]byte, 5)
	must.Get(io.ReadFull(in, got))(t)
	if string(got) != "hello" {
		t.Errorf("%q", got)
	}
	resp := must.Get(g.client.Do(g.request("GET", at+"/8000/events", "")))(t)
	defer resp.Body.Close()
	if line := must.Get(bufio.NewReader(resp.Body).ReadString('\n'))(t); line != "data: 0\n" {
		t.Errorf("%q", line)
	}
}

// plain sends a request that the OpenAPI document does not describe.
func plain(t *testing.T, g *rig, method, path, body string, headers ...string) *reply {
	t.Helper()
	r := g.request(method, path, body)
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	resp := must.Get(g.client.Do(r))(t)
	defer resp.Body.Close()
	return &reply{resp, must.Get(io.ReadAll(resp.Body))(t)}
}

// A page may not call by this path with the rights of its visitor, and a caller has no more places here than elsewhere.
func TestPortsAreGuarded(t *testing.T) {
	e := fakes.New(nil)
	g := newRig(t, Options{Engine: e, MaxRequests: 1})
	id := must.Get(e.CreateSandbox(t.Context(), engine.Caller{}, &engine.SandboxRequest{}))(t).ID
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	at := fmt.Sprintf("/v1/sandboxes/%s/ports/%d/", id, l.Addr().(*net.TCPAddr).Port)
	for _, h := range [][]string{{"Origin", "null"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
		if r := plain(t, g, "GET", at, "", h...); r.StatusCode != 403 {
			t.Error(h, r.Status)
		}
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		if resp, err := g.client.Do(g.request("GET", at, "")); err == nil {
			resp.Body.Close()
		}
	}()
	c := must.Get(l.Accept())(t)
	if r := plain(t, g, "GET", at, ""); r.StatusCode != 503 {
		t.Error("a second request has a place:", r.Status)
	}
	must.Do(t, c.Close())
	<-first
}
