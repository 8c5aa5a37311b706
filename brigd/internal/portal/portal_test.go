package portal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brig/brigd/internal/front"
	"brig/internal/test/must"
)

const prefix = "/v1/sandboxes/sb_x/ports/8000"

// served is the address of a server that passes requests in to what box makes of each connection.
func served(t *testing.T, box func(net.Conn)) string {
	t.Helper()
	inside := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { inside.Close() })
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				box(c)
			}()
		}
	}()
	face := front.New(front.Options{Logger: slog.New(slog.DiscardHandler), MaxBody: 1 << 20, MaxRequests: 4,
		Trace: func(r *http.Request) (*http.Request, func(int)) { return r, func(int) {} }})
	p := &Passage{Port: 8000, Prefix: prefix, Wait: 500 * time.Millisecond, BodyTime: 300 * time.Millisecond,
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", inside.Addr().String())
		}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		face.Serve(w, r, func(v *front.Visit) error {
			if !strings.HasPrefix(r.URL.Path, prefix+"/") {
				return front.Refuse("request", "route_not_found", "path", "not here")
			}
			return p.Serve(v)
		})
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// raw is a server that answers each request with a text, and returns the requests.
func raw(requests chan<- *http.Request, answer string) func(net.Conn) {
	return func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if requests != nil {
			requests <- r
		}
		_, _ = io.WriteString(c, answer)
	}
}

// ask sends a text and returns the first answer.
func ask(t *testing.T, addr, text string) (*http.Response, string) {
	t.Helper()
	c := must.Get(net.Dial("tcp", addr))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(io.WriteString(c, text))(t)
	r := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	body, _ := io.ReadAll(r.Body) // a cut is in what came
	return r, string(body)
}

const get = "GET " + prefix + "/ HTTP/1.1\r\nHost: localhost\r\n\r\n"

// A server that does not keep to HTTP costs its caller an answer with the reason, and nothing else.
func TestBadServers(t *testing.T) {
	endless := func(begin, more string) func(net.Conn) {
		return func(c net.Conn) {
			_, err := io.WriteString(c, begin)
			for err == nil {
				_, err = io.WriteString(c, more)
			}
		}
	}
	for name, c := range map[string]struct {
		box    func(net.Conn)
		status int
		code   string
	}{
		"garbage":         {raw(nil, "\x00\x1b[2Jhello\r\n\r\n"), 502, "port_broken"},
		"nothing":         {raw(nil, ""), 502, "port_broken"},
		"half a header":   {raw(nil, "HTTP/1.1 200 OK\r\nA: "), 502, "port_broken"},
		"silence":         {func(net.Conn) { time.Sleep(2 * time.Second) }, 504, "port_silent"},
		"endless headers": {endless("HTTP/1.1 200 OK\r\n", "A: "+strings.Repeat("b", 1000)+"\r\n"), 502, "port_broken"},
		"endless line":    {endless("HTTP/1.1 200 OK\r\nA: ", "bbbbbbbbbbbbbbbb"), 502, "port_broken"},
		"1xx flood":       {endless("", "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\n\r\n"), 502, "port_broken"},
		"slow headers": {func(c net.Conn) {
			for _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nA: "); err == nil; _, err = io.WriteString(c, "b") {
				time.Sleep(50 * time.Millisecond)
			}
		}, 504, "port_silent"},
		"two lengths":      {raw(nil, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 502, "port_broken"},
		"unasked upgrade":  {raw(nil, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), 502, "port_broken"},
		"bad status":       {raw(nil, "HTTP/1.1 99999 OK\r\n\r\n"), 502, "port_broken"},
		"header injection": {raw(nil, "HTTP/1.1 200 OK\r\nA\rB: c\r\n\r\n"), 502, "port_broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, body := ask(t, served(t, c.box), get)
			if r.StatusCode != c.status || !strings.Contains(body, c.code) || strings.Contains(body, "\x1b") ||
				len(r.Cookies()) > 0 {
				t.Errorf("%s: %s", r.Status, body)
			}
		})
	}
}

// What comes before an answer, and both lengths of one, are not passed on.
func TestAnswersAreFramedAnew(t *testing.T) {
	box := raw(nil, "HTTP/1.1 103 Early\r\nSet-Cookie: a=b\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"+
		"Content-Length: 3\r\nTrailer: Set-Cookie, A\r\n\r\n5\r\nhello\r\n0\r\nSet-Cookie: c=d\r\nClear-Site-Data: \"*\"\r\nA: b\r\n\r\n")
	r, body := ask(t, served(t, box), get)
	if r.StatusCode != 200 || body != "hello" || r.ContentLength == 3 || r.Header.Get("Link") != "" || r.Trailer.Get("A") != "b" ||
		r.Trailer.Get("Set-Cookie")+r.Trailer.Get("Clear-Site-Data")+r.Header.Get("Set-Cookie") != "" {
		t.Errorf("%+v %q", r, body)
	}
}

// A request is framed anew too, and what is behind it is another request for brigd.
func TestSmuggling(t *testing.T) {
	seen := make(chan *http.Request, 4)
	addr := served(t, raw(seen, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	const inner = "GET /inner HTTP/1.1\r\nHost: x\r\n\r\n"
	r, _ := ask(t, addr, fmt.Sprintf("POST "+prefix+"/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(inner)+5, inner))
	if r.StatusCode < 400 {
		in := <-seen
		if body, _ := io.ReadAll(in.Body); len(body) > 0 || in.URL.Path != "/a" || in.ContentLength > 0 {
			t.Errorf("%+v %q", in, body)
		}
	}
	select {
	case in := <-seen:
		if in.URL.Path == "/inner" {
			t.Error("a request was smuggled in")
		}
	default:
	}
}

// What a request tells of the client does not reach the server, and the path does as it was sent.
func TestRequestsArePlain(t *testing.T) {
	seen := make(chan *http.Request, 1)
	addr := served(t, raw(seen, "HTTP/1.1 204 No Content\r\n\r\n"))
	r, _ := ask(t, addr, "PURGE "+prefix+"/a%2Fb/..//%2e?x;y=%zz HTTP/1.1\r\nHost: brigd.example\r\nAuthorization: Bearer T\r\n"+
		"Cookie: brig_port=c; a=b\r\nBrig-Rules: x\r\nX-Forwarded-For: 10.0.0.1\r\nX_Forwarded_For: 10.0.0.1\r\nForwarded: for=x\r\n"+
		"X-Agent-Id: bob\r\nProxy-Authorization: x\r\nConnection: A\r\nA: b\r\nExpect: 100-continue\r\nB: c\r\n\r\n")
	in := <-seen
	if r.StatusCode != 204 || in.Method != "PURGE" || in.RequestURI != "/a%2Fb/..//%2e?x;y=%zz" || in.Host != "localhost:8000" {
		t.Error(r.Status, in.Method, in.RequestURI, in.Host)
	}
	for name := range in.Header {
		switch name {
		case "B", "X-Forwarded-Prefix", "Connection":
		default:
			t.Errorf("%s: %q", name, in.Header[name])
		}
	}
	if in.Header.Get("X-Forwarded-Prefix") != prefix {
		t.Error(in.Header)
	}
}

// An answer cannot act on the origin that it comes from.
func TestAnswersAreTame(t *testing.T) {
	var box strings.Builder
	box.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Own: 1\r\nContent-Security-Policy: default-src *\r\n")
	for _, name := range append([]string{"Access-Control-Allow-Origin", "access-control-allow-credentials", "Brig-File"}, acting...) {
		fmt.Fprintf(&box, "%s: evil\r\n", name)
	}
	r, _ := ask(t, served(t, raw(nil, box.String()+"\r\nok")), get)
	for name, values := range r.Header {
		if strings.Contains(fmt.Sprint(values), "evil") {
			t.Errorf("%s: %q", name, values)
		}
	}
	if csp := r.Header["Content-Security-Policy"]; len(csp) != 2 || csp[1] != Opaque || strings.Contains(Opaque, "same-origin") ||
		r.Header.Get("X-Own") != "1" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error(r.Header)
	}
}

// An answer leads to nothing but its own server.
func TestLocations(t *testing.T) {
	for to, want := range map[string]string{
		"/next?a=b#c": prefix + "/next?a=b#c", "next": prefix + "/a/next", "../../../exec": prefix + "/exec",
		"?q": prefix + "/a/b?q", "http://localhost:8000/x": prefix + "/x", "http://127.0.0.1:8000/x": prefix + "/x",
		"http://localhost/x": prefix + "/x", "%2e%2e/%2E./%2e%2E/../exec": prefix + "/exec", "/%2e%2e/%2e%2e/exec": prefix + "/exec",
		"/a%2Fb": prefix + "/a%2Fb", `\..\..\exec`: prefix + `/a/%5C..%5C..%5Cexec`, "/.": prefix + "/", "": prefix + "/a/b",
		"//evil.example/x": "", "http://evil.example/": "", "https://localhost:8000/": "", "http://localhost:8470/v1/sandboxes": "",
		"javascript:alert(1)": "", "http://u@localhost/": "", "http:/x": prefix + "/x", "///v1/run": prefix + "/v1/run", "%zz": "",
		"http://[::1]:8000/y": prefix + "/y", "/x\x00": "",
	} {
		p := &Passage{Port: 8000, Prefix: prefix}
		r := must.Get(http.NewRequest("GET", "http://localhost:8000/a/b", nil))(t)
		if got := p.location(r.URL, to); got != want {
			t.Errorf("%q: %q, not %q", to, got, want)
		}
	}
}

// Bodies go both ways at the same time, and a client that is too slow is cut off.
func TestBodiesStream(t *testing.T) {
	addr := served(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
		_, _ = io.Copy(c, r.Body)
	})
	c := must.Get(net.Dial("tcp", addr))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(io.WriteString(c, "POST "+prefix+"/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"))(t)
	var in *http.Response
	for i := range 3 {
		must.Get(io.WriteString(c, "4\r\nab"))(t)
		time.Sleep(20 * time.Millisecond)
		must.Get(io.WriteString(c, fmt.Sprintf("c%d\r\n", i)))(t)
		if in == nil {
			in = must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
		}
		four := make([]byte, 4)
		must.Get(io.ReadFull(in.Body, four))(t)
		if string(four) != fmt.Sprint("abc", i) {
			t.Errorf("%q", four)
		}
	}
	start := time.Now()
	_, _ = io.Copy(io.Discard, in.Body)
	if d := time.Since(start); d > 3*time.Second {
		t.Error("a client that sends nothing more is waited for", d)
	}
	r, body := ask(t, served(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"POST "+prefix+"/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
	if r.StatusCode != 408 || !strings.Contains(body, "body_timeout") {
		t.Error(r.Status, body)
	}
}

// A server that takes nothing of a request is not waited for.
func TestServerTakesNothing(t *testing.T) {
	addr := served(t, func(net.Conn) { time.Sleep(3 * time.Second) })
	c := must.Get(net.Dial("tcp", addr))(t)
	defer c.Close()
	go func() {
		_, _ = fmt.Fprintf(c, "POST "+prefix+"/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 64<<20)
		_, _ = c.Write(make([]byte, 64<<20))
	}()
	r := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	if r.StatusCode != 504 {
		t.Error(r.Status)
	}
}

// An upgraded connection carries bytes both ways, and its header is no exception.
func TestUpgrade(t *testing.T) {
	addr := served(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Authorization") != "" {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSet-Cookie: a=b\r\n\r\n")
		_, _ = io.Copy(c, in)
	})
	c := must.Get(net.Dial("tcp", addr))(t)
	defer c.Close()
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(io.WriteString(c, "GET "+prefix+"/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Authorization: Bearer T\r\n\r\n"))(t)
	in := bufio.NewReader(c)
	r := must.Get(http.ReadResponse(in, nil))(t)
	if r.StatusCode != 101 || len(r.Cookies()) > 0 {
		t.Fatal(r.Status, r.Header)
	}
	for _, text := range []string{"one", "two"} {
		must.Get(io.WriteString(c, text))(t)
		got := make([]byte, 3)
		must.Get(io.ReadFull(in, got))(t)
		if string(got) != text {
			t.Errorf("%q", got)
		}
	}
}

// Events come as they are sent, and the server sees that the client has gone away.
func TestEvents(t *testing.T) {
	gone := make(chan error, 1)
	addr := served(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c)) // an error ends the rest
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
		_, err := c.Read(make([]byte, 1))
		gone <- err
	})
	c := must.Get(net.Dial("tcp", addr))(t)
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(io.WriteString(c, get))(t)
	r := must.Get(http.ReadResponse(bufio.NewReader(c), nil))(t)
	event := make([]byte, 9)
	must.Get(io.ReadFull(r.Body, event))(t)
	must.Do(t, c.Close())
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("the connection to the server stays")
	}
}
