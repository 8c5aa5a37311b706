package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
)

// echoes answers a request with its path and headers, and redirects /to. An upgraded connection gets back what it sends.
const echoes = `
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if 'Upgrade' in self.headers:
            self.wfile.write(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
            self.wfile.write(self.rfile.readline().upper())
            self.close_connection = True
            return
        self.send_response(302 if self.path == '/to' else 200)
        self.send_header('Location', '/there?x=1')
        self.send_header('Content-Security-Policy', "img-src 'none'")
        self.end_headers()
        self.wfile.write((self.path + '\n' + str(self.headers)).encode())
http.server.HTTPServer(('127.0.0.1', 8000), H).serve_forever()
`

// tunnel is a brigd box port that runs.
type tunnel struct {
	t         *testing.T
	cmd       *exec.Cmd
	own, addr string // the two addresses that it has printed, without http:// and the slash
}

func openTunnel(t *testing.T, c *exec.Cmd) *tunnel {
	t.Helper()
	u := &tunnel{t: t, cmd: c}
	out := bufio.NewReader(must.Get(c.StdoutPipe())(t))
	must.Do(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	for _, to := range []*string{&u.own, &u.addr} {
		line := must.Get(out.ReadString('\n'))(t)
		*to = must.Get(url.Parse(strings.TrimSpace(line)))(t).Host
	}
	return u
}

// get asks by one of the names.
func (u *tunnel) get(host, path string, header ...string) (*http.Response, string) {
	u.t.Helper()
	r := must.Get(http.NewRequest("GET", "http://"+u.addr+path, nil))(u.t)
	r.Host = host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := must.Get(http.DefaultTransport.RoundTrip(r))(u.t)
	defer w.Body.Close()
	return w, string(must.Get(io.ReadAll(w.Body))(u.t))
}

// A port of a box is at two names of this machine: one that is its own, for a browser, and the address.
func TestBoxPort(t *testing.T) {
	_, c := atTerminal(t)
	c.runs("exec", "-d", c.box, "--", "python3", "-c", echoes)
	u := openTunnel(t, c.command("port", c.box, "8000"))
	if host, port, _ := net.SplitHostPort(u.own); !strings.HasPrefix(host, "8000-") || !strings.HasSuffix(host, ".localhost") || u.addr != "127.0.0.1:"+port {
		t.Fatalf("%+v", u)
	}
	soon(t, "the server answers", func() bool { w, _ := u.get(u.addr, "/"); return w.StatusCode == 200 })
	const opaque = "sandbox allow-forms allow-scripts"
	for host, policies := range map[string]string{u.own: "img-src 'none'", u.addr: "img-src 'none', " + opaque} {
		w, body := u.get(host, "/a%20b?c=d", "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin", "Cookie", "a=b", "Authorization", "Basic x", "X-Agent-Id", "other")
		if got := strings.Join(w.Header.Values("Content-Security-Policy"), ", "); w.StatusCode != 200 || got != policies {
			t.Errorf("%s: %d, policies %q", host, w.StatusCode, got)
		}
		if !strings.HasPrefix(body, "/a%20b?c=d\n") || strings.Contains(body, "Cookie") || strings.Contains(body, "Authorization") || strings.Contains(body, "Sec-Fetch") {
			t.Errorf("%s: the server has got %q", host, body)
		}
		if w, _ := u.get(host, "/to"); w.StatusCode != 302 || w.Header.Get("Location") != "/there?x=1" {
			t.Errorf("%s: %d, to %q", host, w.StatusCode, w.Header.Get("Location"))
		}
		if _, body := u.get(host, "/v1/sandboxes/"+c.box+"/ports/8000/x"); !strings.HasPrefix(body, "/x\n") {
			t.Errorf("%s: with its prefix: %q", host, body)
		}
	}
	for _, x := range []struct {
		host, name, value string
		status            int
	}{
		{"evil.example", "X", "", 421},
		{"localhost:1", "X", "", 421},
		{u.own, "Origin", "http://evil.example", 403},
		{u.own, "Origin", "null", 403},
		{u.own, "Origin", "http://" + u.addr, 403},
		{u.own, "Sec-Fetch-Site", "same-site", 403},
		{u.own, "Sec-Fetch-Site", "cross-site", 403},
		{u.own, "Sec-Fetch-Site", "none", 200},
	} {
		if w, body := u.get(x.host, "/", x.name, x.value); w.StatusCode != x.status {
			t.Errorf("%v: %d %s", x, w.StatusCode, body)
		}
	}
	if got := u.upgraded(); got != "HELLO\n" {
		t.Errorf("an upgraded connection: %q", got)
	}
	c.runs("rm", c.box)
	if w, body := u.get(u.own, "/"); w.StatusCode != 404 || !strings.Contains(body, "There is no sandbox") {
		t.Errorf("without the box: %d %s", w.StatusCode, body)
	}
	must.Do(t, u.cmd.Process.Signal(os.Interrupt))
	must.Do(t, u.cmd.Wait())
}

// upgraded returns what comes back by a connection that is no longer HTTP.
func (u *tunnel) upgraded() string {
	u.t.Helper()
	conn := must.Get(net.Dial("tcp", u.addr))(u.t)
	defer conn.Close()
	must.Do(u.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", u.own)
	in := bufio.NewReader(conn)
	if w := must.Get(http.ReadResponse(in, nil))(u.t); w.StatusCode != http.StatusSwitchingProtocols {
		u.t.Fatal(w.Status)
	}
	fmt.Fprint(conn, "hello\n")
	return must.Get(in.ReadString('\n'))(u.t)
}
