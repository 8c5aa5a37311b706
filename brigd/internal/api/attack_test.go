package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/internal/test/must"
)

func TestMalformedBodies(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, MaxBody: 1 << 20})
	for _, c := range []struct {
		body, code string
		status     int
		rule       string
	}{
		{`{`, "syntax", 400, ""},
		{``, "unsupported_media_type", 415, ""},
		{`{"code":"say"} {}`, "syntax", 400, ""},
		{`{"cod":"say"}`, "unknown_field", 400, "did you mean code"},
		{`{"code":"a","code":"b"}`, "duplicate_key", 400, `"rule":"code"`},
		{`{"code":7}`, "wrong_type", 400, `"rule":"code"`},
		{`{"code":null}`, "wrong_type", 400, "leave it out"},
		{`{"cmd":["id",1]}`, "wrong_type", 400, "cmd[1]"},
		{`{"memory":"much"}`, "invalid_value", 400, `"rule":"memory"`},
		{`{"timeout":"soon"}`, "invalid_value", 400, `"rule":"timeout"`},
		{`{"files":{"a":{"base64":"?"}}}`, "invalid_value", 400, "files.a"},
		{`{"files":{"a":{"base64":"","hex":""}}}`, "invalid_value", 400, "files.a"},
		{"{\"code\":\"\xff\"}", "encoding", 400, "UTF-8"},
		{`{"code":"\ud800"}`, "encoding", 400, "surrogate"},
		{strings.Repeat(`{"files":`, 100), "too_deep", 400, "32"},
		{strings.Repeat("[", 100_000), "too_deep", 400, ""},
		{`{"cmd":[` + strings.Repeat(`"",`, 110_000) + `""]}`, "too_many_values", 400, ""},
		{`{"code":"` + strings.Repeat("a", 1<<20) + `"}`, "body_too_large", 413, ""},
		{`{"code":"say","agent_id":"a\r\nSet-Cookie: b"}`, "invalid_agent", 400, "agent_id"},
		{`{"code":"say","agent_id":"../b"}`, "invalid_agent", 400, "agent_id"},
	} {
		r := g.refused(c.status, c.code, "POST", "/v1/run", c.body)
		if !strings.Contains(string(r.text), c.rule) || len(r.text) > 1000 {
			t.Errorf("%.60s: %s", c.body, r.text)
		}
	}
	if f.Last != nil || f.Made != 0 {
		t.Errorf("it has run %+v, or made one of %d sandboxes", f.Last, f.Made)
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1",
		"application/jsonx", "x", "application/json; a"} {
		g.refused(415, "unsupported_media_type", "POST", "/v1/run", `{"code":"say"}`, "Content-Type", kind)
	}
	g.refused(415, "unsupported_media_type", "POST", "/v1/run", `{"code":"say"}`, "Content-Encoding", "gzip")
	g.do(200, "POST", "/v1/run", `{"code":"say"}`, "Content-Type", "application/json; charset=UTF-8")
}

// raw sends bytes and returns the answers' status lines, as long as there are any.
func (g *rig) raw(network, request string) (answers []*http.Response) {
	g.Helper()
	address := g.socket
	if network == "tcp" {
		address = g.tcp
	}
	c := must.Get(net.Dial(network, address))(g)
	defer c.Close()
	must.Do(g, c.SetDeadline(time.Now().Add(10*time.Second)))
	go io.WriteString(c, request) // the server may close before it has read everything
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return answers
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return answers
		}
		resp.Body = io.NopCloser(bytes.NewReader(text))
		if answers = append(answers, resp); resp.Close {
			return answers
		}
	}
}

func TestRawRequests(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, MaxBody: 1 << 16, BodyTime: 200 * time.Millisecond})
	run := "POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	quit := "GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	big := strings.Repeat("a", 1<<17)
	for _, c := range []struct{ what, request, want string }{
		{"a body that never comes", run + "Content-Length: 10\r\n\r\n{", "408"},
		{"a chunked body that never ends", run + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "408"},
		{"a large length announced", run + "Content-Length: 99999999999\r\n\r\n", "413"},
		{"a large chunked body", run + "Transfer-Encoding: chunked\r\n\r\n20000\r\n" + big + "\r\n0\r\n\r\n", "413"},
		{"a chunked body", run + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{\"code\":\"say\"}\r\n0\r\n\r\n", "200"},
		{"no length and no chunks", run + "\r\n" + quit, "400 200"},
		// the chunks count: RFC 9112, section 6.3
		{"a length and chunks", run + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + quit, "400 200"},
		{"two lengths", run + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}" + quit, "400"},
		{"a negative length", run + "Content-Length: -2\r\n\r\n{}" + quit, "400"},
		{"an unknown coding", run + "Transfer-Encoding: gzip\r\n\r\n{}" + quit, "501"},
		{"a broken chunk", run + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"two content types", run + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}" + quit, "415 200"},
		{"two hosts", "GET /v1/version HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"},
		{"a long header", "GET /v1/version HTTP/1.1\r\nHost: x\r\nA: " + big + "\r\n\r\n", "431"},
		{"HTTP/0.9", "GET /v1/version\r\n\r\n", "400"},
		{"CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\nConnection: close\r\n\r\n", "404"},
		{"an unknown method", "BREW /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "405"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "404"},
		{"an absolute target", "GET http://x/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "200"},
		{"two agents", "GET /v1/sandboxes HTTP/1.1\r\nHost: x\r\nX-Agent-Id: a\r\nX-Agent-Id: b\r\nConnection: close\r\n\r\n",
			"400"},
		{"a body where none belongs", "GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", "200"},
		{"a body where nothing is", "POST /v2/run HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "404"},
		{"pipelined", "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n" + quit, "200 200"},
	} {
		var got []string
		for _, a := range g.raw("unix", c.request) {
			got = append(got, fmt.Sprint(a.StatusCode))
			for name := range a.Header {
				if name == "Set-Cookie" {
					t.Errorf("%s: %v", c.what, a.Header)
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, not %s", c.what, got, c.want)
		}
	}
	if !g.s.Bodies.Take("somebody else", 256<<20) {
		t.Error("a part of the budget is not given back")
	}
}

func TestPaths(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f})
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID + "/files"
	for _, c := range []struct{ path, want string }{
		{"/work/a", "200 /work/a"},
		{"/work/a%0d%0aSet-Cookie:%20x", "200 /work/a\r\nSet-Cookie: x"},
		{"/work/%ff%fe", "200 /work/\xff\xfe"},
		{`/work/..\..\a`, `200 /work/..\..\a`},
		{"/work/..%5ca", `200 /work/..\a`},
		{"/work/...", "200 /work/..."},
		{"/work/a%25b", "200 /work/a%b"},
		{"/work/a%3fb%23c", "200 /work/a?b#c"},
		{"/work/../../etc/passwd", "400"},
		{"/work/%2e%2e/%2E./etc/passwd", "400"},
		{"/work/..%2f..%2fetc%2fpasswd", "400"},
		{"/work/a%2fb", "400"},
		{"/work/%00", "400"},
		{"/work/a%00b", "400"},
		{"/work//a", "400"},
		{"//etc/passwd", "400"},
		{"/./work/a", "400"},
		{"/work/", "400"},
		{"/", "400"},
		{"/work/" + strings.Repeat("a/", 2100) + "a", "400"},
		{"/../../../v1/version", "400"},
	} {
		request := "PUT " + at + c.path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
		answers := g.raw("unix", request)
		if len(answers) != 1 {
			t.Fatalf("%q: %d answers", c.path, len(answers))
		}
		got := fmt.Sprint(answers[0].StatusCode)
		for path := range f.Boxes[box.ID].Files {
			got += " " + path
			delete(f.Boxes[box.ID].Files, path)
		}
		if got != c.want || answers[0].Header.Get("Set-Cookie") != "" || answers[0].Header.Get("Location") != "" {
			t.Errorf("%q: %q, not %q", c.path, got, c.want)
		}
	}
	for _, path := range []string{"//v1/version", "/v1//version", "/v1/version/", "/v1/./version", "/v1/%76ersion",
		"/v1/x/../version", "/", "", "/v1/sandboxes/", "/v1/sandboxes/a%0d%0ab",
		"/v1/sandboxes/..", "/v1/sandboxes/%2e%2e/exec", "/v1/sandboxes/" + strings.Repeat("a", 200), "/v1/sandboxes/a%2fb",
		"/V1/version"} {
		request := "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
		answers := g.raw("unix", request)
		if len(answers) != 1 || answers[0].StatusCode != 404 && path != "" || answers[0].Header.Get("Location") != "" {
			t.Errorf("%q: %v", path, answers)
		}
	}
}

func TestMethods(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	for path, allow := range map[string]string{"/v1/run": "POST", "/v1/sandboxes": "POST, GET",
		"/v1/sandboxes/x": "GET, DELETE", "/v1/sandboxes/x/files/work/a": "PUT, GET, DELETE",
		"/v1/runs/x": "GET, DELETE", "/v1/sandboxes/x/runs": "GET", "/healthz": "GET"} {
		if r := g.refused(405, "method_not_allowed", "PATCH", path, ""); r.Header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q", path, r.Header.Get("Allow"))
		}
	}
	g.refused(404, "route_not_found", "GET", "/v2/run", "")
	g.refused(400, "unknown_parameter", "POST", "/v1/run?debug=1", `{"code":"say"}`)
	g.refused(500, "internal", "POST", "/v1/run", `{"code":"panic"}`)
	g.do(200, "POST", "/v1/run", `{"code":"say"}`)
}

func TestFilesAreBounded(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, MaxFile: 1000})
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID + "/files/work/"
	g.do(200, "PUT", at+"a", strings.Repeat("x", 1000))
	g.refused(413, "body_too_large", "PUT", at+"b", strings.Repeat("x", 1001))
	r := g.request("PUT", at+"b", "")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1001))), -1 // chunked
	g.isRefusal(g.send(413, r), "body_too_large")
	g.refused(404, "not_found", "GET", at+"b", "")
	g.refused(415, "unsupported_media_type", "PUT", at+"b", "x", "Content-Encoding", "gzip")
	g.do(200, "PUT", at+"sparse", "x")
	g.refused(413, "too_large", "GET", at+"sparse", "")
	g.do(200, "PUT", at+"shrinks", "x")
	resp, err := g.client.Do(g.request("GET", at+"shrinks", ""))
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("a file that became shorter looks whole")
	}
}

func TestBodiesShareABudget(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	g.s.Bodies = front.NewBudget(400_000, front.Memory) // a quarter of it is one caller's, and 64 KiB each body has besides
	g.do(200, "POST", "/v1/run", `{"code":"say `+strings.Repeat("x", 160_000)+`"}`)
	if r := g.refused(429, "body_budget", "POST", "/v1/run",
		`{"code":"say `+strings.Repeat("x", 170_000)+`"}`); r.Header.Get("Retry-After") != "1" {
		t.Errorf("%v", r.Header)
	}
	g.do(200, "POST", "/v1/run", `{"code":"say"}`)
}

func TestRequestsAreBounded(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f, MaxRequests: 1})
	_, next := g.open(t.Context(), "/v1/run", `{"code":"wait"}`, ndjsonType)
	id := next().ID
	g.refused(503, "too_many_requests", "GET", "/v1/version", "")
	g.do(200, "GET", "/healthz", "")
	_ = id
}

// What a client sends stays in one line of the log, as a value.
func TestLogInjection(t *testing.T) {
	var mu sync.Mutex
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(lockedWriter{&mu, &text}, nil))
	g := newRig(t, Options{Engine: newFake(), Logger: log})
	g.do(404, "GET", "/v1/sandboxes/x/files/work/a%0a%7b%22level%22:%22FORGED%22%7d", "")
	g.do(400, "POST", "/v1/run", "{\"code\":\"say\",\"agent_id\":\"a\\nFORGED\"}")
	g.do(200, "GET", "/v1/version", "", "X-Request-Id", strings.Repeat("F", 500))
	g.raw("unix", "GET /v1/version HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\x1b[31mFORGED\r\nConnection: close\r\n\r\n")
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(text.String(), "FORGED") || strings.Contains(text.String(), "\x1b") ||
		strings.Contains(text.String(), "FFFF") {
		t.Errorf("%s", text.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
