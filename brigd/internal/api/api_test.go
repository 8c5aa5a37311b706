package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/admit"
	"brig/brigd/job"
)

func TestRun(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f})
	var resp engine.Response
	r := g.do(200, "POST", "/v1/run",
		`{"language":"python","code":"say hello","timeout":"2s","memory":"64m","files":{"a":"x","b":{"base64":"AP8="}},"env":{"A":"b"}}`)
	r.into(t, &resp)
	if resp.Stdout != "hello" || resp.Stderr != "é\n" || r.Header.Get("X-Run-Id") != resp.ID {
		t.Errorf("%s %v", r.text, r.Header)
	}
	if f.Last.Timeout != engine.Seconds(2*time.Second) || f.Last.Memory != 64<<20 ||
		string(f.Last.Files["b"].Data) != "\x00\xff" || f.Last.Env["A"] != "b" {
		t.Errorf("%+v", f.Last)
	}
	g.do(200, "POST", "/v1/run", `{"code":"fail"}`).into(t, &resp)
	if resp.Status != "failed" || resp.ExitCode != 3 {
		t.Errorf("%+v", resp)
	}
	r = g.do(200, "POST", "/v1/run", `{"code":"cat","stdin":"in"}`, "X-Request-Id", "mine_1", "Accept",
		"text/html;q=0, */*")
	if !strings.Contains(string(r.text), `"stdout":"in"`) || r.Header.Get("X-Request-Id") != "mine_1" {
		t.Errorf("%s", r.text)
	}
}

func TestRunsThatCouldNotHappen(t *testing.T) {
	g := newRig(t, Options{Engine: newFake()})
	for _, c := range []struct {
		what   string
		status int
	}{
		{"command_not_allowed policy", 403}, {"token_spent token", 403}, {"nothing_to_run request", 400},
		{"sandbox_unknown sandbox", 404}, {"disk_full sandbox", 507},
		{"busy sandbox", 409}, {"jail_failed jail", 500}, {"host_lacks jail", 501}, {"command_not_runnable jail", 422},
		{"files_too_large request", 413},
		{"too_many_sandboxes sandbox", 429}, {"other auth", 401}, {"strange nobody", 500},
	} {
		code, _, _ := strings.Cut(c.what, " ")
		for _, accept := range []string{jsonType, ndjsonType, sseType} {
			r := g.refused(c.status, code, "POST", "/v1/run", `{"code":"refuse `+c.what+`"}`, "Accept", accept)
			if !strings.HasPrefix(r.Header.Get("X-Run-Id"), "run_") ||
				(c.status == 401) != (r.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%s: %v", c.what, r.Header)
			}
		}
	}
}

func TestSandboxes(t *testing.T) {
	f := newFake()
	g := newRig(t, Options{Engine: f})
	var box engine.SandboxInfo
	r := g.do(201, "POST", "/v1/sandboxes", `{"disk":"1m","files":{"d/a":"x"}}`)
	r.into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	if r.Header.Get("Location") != at {
		t.Errorf("%v", r.Header)
	}
	g.do(200, "GET", at, "")
	if r := g.do(200, "GET", "/v1/sandboxes", ""); !strings.Contains(string(r.text), box.ID) {
		t.Errorf("%s", r.text)
	}
	g.do(200, "POST", at+"/exec", `{"cmd":["id"]}`)
	if f.Last.Sandbox != box.ID {
		t.Errorf("%+v", f.Last)
	}
	g.do(200, "POST", at+"/exec", `{"cmd":["id"],"sandbox":"`+box.ID+`"}`)
	g.refused(400, "two_sandboxes", "POST", at+"/exec", `{"cmd":["id"],"sandbox":"other"}`)
	g.refused(404, "sandbox_unknown", "POST", "/v1/sandboxes/other/exec", `{"cmd":["id"]}`)

	data := "\x00bytes\xff\n"
	g.do(200, "PUT", at+"/files/work/a%20b/c.bin", data, "Content-Type", "application/octet-stream")
	g.do(200, "PUT", at+"/files/output/x", data, "Content-Type", "text/html")
	r = g.do(200, "GET", at+"/files/work/a%20b/c.bin", "")
	if string(r.text) != data || r.Header.Get("Content-Type") != binary || r.ContentLength != int64(len(data)) ||
		r.Header.Get("Content-Disposition") != "attachment" {
		t.Errorf("%q %v", r.text, r.Header)
	}
	if r = g.do(200, "HEAD", at+"/files/work/a%20b/c.bin", ""); len(r.text) != 0 || r.ContentLength != int64(len(data)) {
		t.Errorf("%q %v", r.text, r.Header)
	}
	var files FileList
	g.do(200, "GET", at+"/files?recursive=1", "").into(t, &files)
	if len(files.Files) != 1 || files.Files[0].Path != "/work/a b/c.bin" {
		t.Errorf("%+v", files)
	}
	g.do(200, "GET", at+"/files?path=/nothing", "").into(t, &files)
	if files.Files == nil || len(files.Files) != 0 {
		t.Errorf("%+v", files)
	}
	g.refused(400, "unknown_parameter", "GET", at+"/files?recursiv=1", "")
	g.refused(400, "invalid_parameter", "GET", at+"/files?recursive=maybe", "")
	g.refused(400, "duplicate_parameter", "GET", at+"/files?path=a&path=b", "")
	g.refused(400, "invalid_query", "GET", at+"/files?path=%zz", "")
	g.refused(507, "disk_full", "PUT", at+"/files/work/full", "x")
	g.do(204, "DELETE", at+"/files/output/x", "")
	g.refused(404, "not_found", "DELETE", at+"/files/output/x", "")
	g.refused(404, "not_found", "GET", at+"/files/output/x", "")
	g.do(204, "DELETE", at, "")
	g.refused(404, "not_found", "GET", at, "")
}

func TestMeta(t *testing.T) {
	ready := true
	g := newRig(t, Options{Engine: newFake(), Version: "9", Ready: func() bool { return ready },
		Health: func() map[string]string { return map[string]string{"audit": "ok"} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = w.Write([]byte("up 1\n"))
		})})
	for path, want := range map[string]string{"/v1/languages": `"python"`, "/v1/version": `"version":"9"`,
		"/metrics": "up 1", "/openapi.json": `"openapi": "3.1.0"`,
		"/healthz": `"details":{"audit":"ok"}`} {
		if r := g.do(200, "GET", path, ""); !strings.Contains(string(r.text), want) {
			t.Errorf("%s: %s", path, r.text)
		}
	}
	ready = false
	if r := g.do(503, "GET", "/healthz", ""); r.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(r.text), "not_ready") {
		t.Errorf("%v", r.Header)
	}
	g.do(200, "GET", "/healthz?probe=live", "")
}

// gate refuses all but the first.
type gate struct {
	places chan struct{}
	no     error
}

func (*gate) Ask(string) error { return nil }

func (g *gate) Enter(context.Context, string) (func(), error) {
	select {
	case g.places <- struct{}{}:
		return sync.OnceFunc(func() { <-g.places }), nil
	default:
		return nil, g.no
	}
}

func later(no *job.Refusal) error {
	return &admit.Rejected{Refusal: no, RetryAfter: 1500 * time.Millisecond}
}

func TestGate(t *testing.T) {
	f := newFake()
	full := &gate{places: make(chan struct{}, 1)}
	g := newRig(t, Options{Engine: f, Gate: full})
	for range 3 { // the place is given back
		g.do(200, "POST", "/v1/run", `{"code":"say"}`)
		g.refused(403, "x", "POST", "/v1/run", `{"code":"refuse x policy"}`)
	}
	full.places <- struct{}{}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{later(no("queue", "queue_full", "queue", "full", "wait")), 429, "queue_full"},
		{later(no("queue", "draining", "", "it ends", "wait")), 503, "draining"},
	} {
		full.no = c.err
		if r := g.refused(c.status, c.code, "POST", "/v1/run", `{"code":"say"}`); r.Header.Get("Retry-After") != "2" {
			t.Errorf("%v: Retry-After %q", c.err, r.Header.Get("Retry-After"))
		}
	}
	full.no = errors.New("secret words")
	if r := g.refused(500, "internal", "POST", "/v1/run", `{"code":"say"}`); strings.Contains(string(r.text), "secret") {
		t.Errorf("%s", r.text)
	}
}

// A run costs the interface few allocations besides those of its jail: 176 when it was measured, with the request and
// the recorder that this test makes.
func TestRunAllocates(t *testing.T) {
	s := newServer(filled(Options{Engine: newFake(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}))
	at := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.UnixAddr{Net: "unix"})
	each := testing.AllocsPerRun(100, func() {
		r := httptest.NewRequestWithContext(at, "POST", "/v1/run", strings.NewReader(`{"cmd":["/bin/true"]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	})
	if t.Log(each, "allocations"); each > 185 {
		t.Errorf("a run allocates %v times, more than 185", each)
	}
}
