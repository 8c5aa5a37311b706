package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
)

// send sends bytes, and returns the answer without its body, and the body.
func (p *proc) send(method, path, body string, header ...string) (*http.Response, string) {
	p.t.Helper()
	r := must.Get(http.NewRequest(method, p.url+path, strings.NewReader(body)))(p.t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := must.Get(p.client.Do(r))(p.t)
	defer w.Body.Close()
	text := must.Get(io.ReadAll(w.Body))(p.t)
	return w, string(text)
}

// A sandbox that is made for an agent can be used without naming the agent again. Its files keep their modes, and paths
// are taken as written.
func TestFilesOfSandboxes(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s")
	if w, body := p.send("POST", "/v1/sandboxes", ""); w.StatusCode != 201 {
		t.Errorf("without a body: %d %s", w.StatusCode, body)
	}
	at, box := p.sandbox(map[string]any{"agent_id": "bot"})
	if box["agent_id"] != "bot" {
		t.Errorf("%v", box)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"PUT", "/files/work/tool?mode=755", "#!/bin/sh\necho works\n", 200, `"0755"`},
		{"PUT", "/files/input/d", "x", 200, `"/input/d"`},
		{"GET", "/files/input/d", "", 200, "x"},
		{"GET", "/files?path=/input", "", 200, `"/input/d"`},
		{"GET", "/files?path=input/d", "", 400, `write \"/input/d\", or \"/work/input/d\"`},
		{"GET", "/files?path=./input", "", 404, "not_found"},
		{"PUT", "/files/work/f?mode=1777", "", 400, "three octal digits"},
		{"PUT", "/files/work/f?mode=rwx", "", 400, "three octal digits"},
		{"GET", "", "", 200, `"bot"`},
	} {
		if w, body := p.send(c.method, at+c.path, c.body); w.StatusCode != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.StatusCode, body)
		}
	}
	exec := func(files string) (int, string) {
		w, body := p.send("POST", at+"/exec", `{"cmd":["sh","-c","/work/tool; cat /input/*"],"files":`+files+`}`, "Content-Type", "application/json")
		return w.StatusCode, body
	}
	if status, body := exec(`{"e":"y","/input/f":"z"}`); status != 200 || !strings.Contains(body, `"stdout":"works\nxyz"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := exec(`{"input/g":"y"}`); status != 400 || !strings.Contains(body, "bad_file_name") {
		t.Errorf("%d %s", status, body)
	}
	if w, body := p.send("GET", at, "", "X-Agent-Id", "other"); w.StatusCode != 404 {
		t.Errorf("as another agent: %d %s", w.StatusCode, body)
	}
}

// A narrowed token reaches neither the sandboxes of the token that it was made from nor their runs. The audit log names
// the caller of each file, and refused callers. A caller is not told why that log cannot be written.
func TestSandboxesOfTokens(t *testing.T) {
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/k")
	wide := strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/k.key", "--agent", "bot"))
	narrow := strings.TrimSpace(call(t, wide, "token", "attenuate", "--policy", "minimal"))
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--token-key", d+"/k.pub", "--state-dir", d+"/state", "--audit", d+"/log", "--optional", "memory,memory_swap,cpus,cpu_time")
	p.key = wide
	at, _ := p.sandbox(map[string]any{})
	as := func(key, method, path string) int {
		w, _ := p.send(method, path, "print('PWNED')", "Authorization", "Bearer "+key)
		return w.StatusCode
	}
	for _, c := range [][2]string{{"PUT", at + "/files/work/json.py"}, {"GET", at + "/files"}, {"GET", at}, {"DELETE", at}} {
		if status := as(narrow, c[0], c[1]); status != 404 {
			t.Errorf("the narrowed token: %s %s: %d", c[0], c[1], status)
		}
	}
	if status := as(wide, "PUT", at+"/files/work/own"); status != 200 {
		t.Errorf("its own: %d", status)
	}
	for range 5 {
		if status := as("brig1.wrong", "GET", at); status != 401 {
			t.Errorf("a wrong token: %d", status)
		}
	}
	for _, want := range []string{"sandbox.create", "file.put", "/work/own", "auth.refused", "token_malformed"} {
		if shown := call(t, "", "audit", "show", d+"/log"); !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	must.Do(t, os.Rename(d+"/log", d+"/moved"))
	for _, c := range []struct{ method, path, body string }{{"POST", "/v1/run", `{"cmd":["true"]}`}, {"POST", "/v1/sandboxes", "{}"}, {"PUT", at + "/files/work/f", "x"}, {"DELETE", at, ""}} {
		w, body := p.send(c.method, c.path, c.body, "Authorization", "Bearer "+wide, "Content-Type", "application/json")
		if w.StatusCode != 503 || w.Header.Get("Retry-After") != "5" || !strings.Contains(body, "audit_unavailable") || strings.Contains(body, d) {
			t.Errorf("%s %s: %d %q %s", c.method, c.path, w.StatusCode, w.Header.Get("Retry-After"), body)
		}
	}
	if !strings.Contains(p.logged(), "the audit log cannot be written") || !strings.Contains(p.logged(), d+"/log") {
		t.Errorf("brigd's log has no reason:\n%s", p.logged())
	}
	must.Do(t, os.Rename(d+"/moved", d+"/log"))
	p.ran(200, "true")
	p.signal(os.Interrupt)
	p.end()
	call(t, "", "audit", "verify", d+"/log")
}
