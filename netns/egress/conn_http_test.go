package egress

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// site is an HTTP server behind a.test:80.
func (r *rig) site(name string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { fmt.Fprintf(w, "%s %s", q.Method, q.URL.Path) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, q *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) })
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, q *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "part")
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/upload", func(w http.ResponseWriter, q *http.Request) {
		n, err := io.Copy(io.Discard, q.Body)
		fmt.Fprint(w, n, err)
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, q *http.Request) { http.Error(w, "no", http.StatusRequestEntityTooLarge) })
	for path, text := range map[string]string{ // answers after which the connection is closed
		"/closes": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"/short":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"/junk":   "SSH-2.0-x\r\n\r\n",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			c, b, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(b, text)
			b.Flush()
			c.Close()
		})
	}
	mux.HandleFunc("/empty", func(w http.ResponseWriter, q *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/ws", func(w http.ResponseWriter, q *http.Request) {
		c, b, _ := w.(http.Hijacker).Hijack()
		fmt.Fprint(b, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello")
		b.Flush()
		_, _ = io.Copy(c, b)
		c.Close()
	})
	l := listenTCP(r.t)
	r.at(name, 80, addrPort(l.Addr()))
	s := &http.Server{Handler: mux}
	go s.Serve(l)
	r.t.Cleanup(func() { s.Close() })
}

// ask sends bytes to a.test at port 80, and reads the first answer. A status that is not wanted ends the test.
func (r *rig) ask(status int, text string) (*net.TCPConn, *bufio.Reader, *http.Response) {
	r.t.Helper()
	conn := r.dial(r.to("a.test", 80))
	fmt.Fprint(conn, text)
	br := bufio.NewReader(conn)
	res := must.Get(http.ReadResponse(br, nil))(r.t)
	if res.StatusCode != status {
		r.t.Fatal(res)
	}
	return conn, br, res
}

// client is an HTTP client in the jail.
func (r *rig) client(name string) *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return r.dialErr(r.to(name, 80)) }}}
}

func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	res := must.Get(c.Get(url))(t)
	defer res.Body.Close()
	body := must.Get(io.ReadAll(res.Body))(t)
	return res.StatusCode, string(body)
}

func TestHTTPRequestsOnOneConnection(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.site("a.test")
	c := r.client("a.test")
	for _, path := range []string{"/one", "/two?secret=1", "/chunked", "/empty", "/big"} {
		status, body := get(t, c, "http://a.test"+path)
		if status/100 != 2 || path == "/big" && len(body) != 3<<20 || path == "/chunked" && body != "partpartpart" {
			t.Errorf("%s: %d, %d bytes", path, status, len(body))
		}
	}
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat("x", 1<<20)), io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20)} {
		res := must.Get(c.Post("http://a.test/upload", "", body))(t) // with a length, and chunked
		if got, err := io.ReadAll(res.Body); string(got) != "1048576 <nil>" {
			t.Errorf("%q, %v", got, err)
		}
		res.Body.Close()
	}
	c.CloseIdleConnections()
	r.wait(7)
	all := r.end(7)
	if len(r.dialed) != 2 { // the first upload was the last request of its connection
		t.Errorf("dialled %v", r.dialed)
	}
	for i, e := range all {
		if e.Verdict != VerdictAllow || e.Kind != KindHTTP || e.Status/100 != 2 || e.Host != "a.test" || e.Address != "93.184.216.34:80" || e.Sent == 0 || e.Received == 0 ||
			strings.Contains(e.Path, "secret") || i == 4 && e.Received < 3<<20 || i > 4 && (e.Sent < 1<<20 || e.Method != "POST") {
			t.Errorf("%+v", e)
		}
	}
}

func TestHTTPRefusals(t *testing.T) {
	given := policy.Policy{Allow: []policy.Rule{{Host: "a.test", Mode: policy.ModeHTTP, Methods: []string{"GET", "HEAD"}, Paths: []string{"/api"}}, {Host: "b.test"}}}
	for _, c := range []struct {
		name, site, request string
		status              int
		reason              policy.Reason
	}{
		{"method", "a.test", "DELETE /api HTTP/1.1\r\nHost: a.test\r\n\r\n", 403, policy.ReasonMethod},
		{"path", "a.test", "GET /other HTTP/1.1\r\nHost: a.test\r\n\r\n", 403, policy.ReasonPath},
		{"dot path", "a.test", "GET /api/../other HTTP/1.1\r\nHost: a.test\r\n\r\n", 403, policy.ReasonPath},
		{"host", "a.test", "GET /api HTTP/1.1\r\nHost: evil.test\r\n\r\n", 403, policy.ReasonHostMismatch},
		{"port in host", "a.test", "GET /api HTTP/1.1\r\nHost: a.test:81\r\n\r\n", 403, policy.ReasonHostMismatch},
		{"not allowed at all", "c.test", "GET /api HTTP/1.1\r\nHost: c.test\r\n\r\n", 403, policy.ReasonNoRule},
		{"upgrade with limits", "a.test", "GET /api HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", 403, policy.ReasonMethod},
		{"override with limits", "a.test", "GET /api HTTP/1.1\r\nHost: a.test\r\nX-HTTP-Method-Override: DELETE\r\n\r\n", 403, policy.ReasonMethod},
		{"smuggling", "b.test", "POST / HTTP/1.1\r\nHost: b.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "protocol"},
		{"http/2", "b.test", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, ""},
		{"not http", "b.test", "\x16\x03\x01\x02\x00\x01\x00\x01", 400, policy.ReasonNotHTTP},
		{"name in error", "d.test", "GET / HTTP/1.1\r\nHost: d.test\r\n\r\n", 403, policy.ReasonNoRule},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, given).serve()
			r.site("a.test")
			r.site("b.test")
			conn := r.dial(r.to(c.site, 80))
			fmt.Fprint(conn, c.request)
			res := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(t)
			var said struct {
				Error, Reason, Host, Allow string
				Port                       int
			}
			if err := json.NewDecoder(res.Body).Decode(&said); err != nil || said.Error != "egress_denied" || said.Host == "" || said.Port != 80 {
				t.Errorf("%+v, %v", said, err)
			}
			r.wait(1)
			e := r.end(1)[0]
			if res.StatusCode != c.status || e.Status != c.status || e.Verdict != VerdictDeny || c.reason != "" && e.Reason != c.reason || said.Reason != string(e.Reason) {
				t.Errorf("%d %+v", res.StatusCode, e)
			}
			if len(r.dialed) > 0 {
				t.Errorf("dialled %v", r.dialed)
			}
		})
	}
}

func TestHTTPPipeliningInOrder(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.site("a.test")
	conn := r.dial(r.to("a.test", 80))
	fmt.Fprint(conn, "GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n"+
		"GET /3 HTTP/1.1\r\nHost: b.test\r\n\r\nGET /4 HTTP/1.1\r\nHost: a.test\r\n\r\n")
	br := bufio.NewReader(conn)
	for i, want := range []int{200, 200, 403} {
		res, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want || i < 2 && string(body) != fmt.Sprint("GET /", i+1) {
			t.Errorf("%d: %d %q %v", i, res.StatusCode, body, err)
		}
	}
	if rest, err := io.ReadAll(br); len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	r.wait(3)
	r.end(3)
}

// A body that the server leaves unread must not become an unchecked request: the connection ends with it.
func TestBodyEndsAConnection(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.site("a.test")
	_, br, res := r.ask(200, "POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if !res.Close {
		t.Fatal(res)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(br); len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	r.wait(1)
	r.end(1)
}

func TestWebsocket(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.site("a.test")
	conn, br, _ := r.ask(101, "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\nearly")
	fmt.Fprint(conn, "late")
	_ = conn.CloseWrite()
	if got, err := io.ReadAll(br); string(got) != "helloearlylate" {
		t.Errorf("%q, %v", got, err)
	}
	r.wait(1)
	if e := r.end(1)[0]; e.Status != 101 || e.Verdict != VerdictAllow || e.Reason != "" {
		t.Errorf("%+v", e)
	}
}

func TestHTTPBadServers(t *testing.T) {
	for _, c := range []struct {
		path    string
		status  int // that the client sees; 0: the connection breaks
		verdict Verdict
		reason  policy.Reason
	}{
		{"/junk", 502, VerdictError, policy.ReasonProtocol},
		{"/short", 0, VerdictAllow, policy.ReasonProtocol},
	} {
		r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
		r.site("a.test")
		res, err := r.client("a.test").Get("http://a.test" + c.path)
		if err == nil && c.status == 0 {
			_, err = io.ReadAll(res.Body)
		}
		if c.status == 0 && err == nil || c.status != 0 && (err != nil || res.StatusCode != c.status) {
			t.Errorf("%s: %v", c.path, err)
		}
		r.wait(1)
		if e := r.end(1)[0]; e.Verdict != c.verdict || e.Reason != c.reason {
			t.Errorf("%s: %+v", c.path, e)
		}
	}
}

// If a server closes the connection between two requests, the second is sent on a new connection to the same vetted
// address.
func TestHTTPServerThatClosesInBetween(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.server("a.test", 80, func(c *net.TCPConn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
		c.Close() // without having said so
	})
	c := r.client("a.test")
	for range 3 {
		if status, body := get(t, c, "http://a.test/"); status != 200 || body != "ok" {
			t.Errorf("%d %q", status, body)
		}
	}
	r.wait(3)
	r.end(3)
}

// An answer before the end of the upload must reach the client, and ends the connection.
func TestHTTPEarlyAnswer(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")}).serve()
	r.site("a.test")
	r.ask(413, "POST /early HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\nabc")
	r.wait(1)
	if e := r.end(1)[0]; e.Status != 413 || e.Verdict != VerdictAllow {
		t.Errorf("%+v", e)
	}
}

// Each connection to the server counts, not only the payload's own, which may stay the same one.
func TestRateCountsDials(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test"), ConnectionsPerSecond: 1}).serve()
	r.site("a.test")
	c := r.client("a.test")
	refused := 0
	for range 20 {
		if status, body := get(t, c, "http://a.test/closes"); status == 403 && strings.Contains(body, `"reason":"rate"`) {
			refused++
			break // and the connection has ended
		}
	}
	if refused == 0 {
		t.Error("20 connections to the server within a second")
	}
}

// An upload that stops is idle, however its body is framed: 504, since no side has broken the protocol.
func TestHTTPUploadStops(t *testing.T) {
	for range 2 {
		for _, head := range []string{"Content-Length: 100\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n64\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
			r := newRig(t, policy.Policy{Allow: rules("a.test"), IdleTimeout: policy.Duration(100 * time.Millisecond)}).serve()
			r.site("a.test")
			r.ask(504, "POST /upload HTTP/1.1\r\nHost: a.test\r\n"+head)
			if e := r.wait(1)[0]; e.Reason != policy.ReasonIdleTimeout || e.Verdict != VerdictError || e.Status != 504 {
				t.Errorf("%q: %+v", head, e)
			}
			r.s.Close()
		}
	}
}
