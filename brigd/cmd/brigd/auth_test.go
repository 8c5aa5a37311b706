package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/listen"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// By TCP, only authenticated callers are served, each as its own agent.
func TestKeys(t *testing.T) {
	d := dir(t)
	coder, other := strings.Repeat("c", 40), strings.Repeat("o", 40)
	keys := file(t, d+"/keys", "coder "+coder+"\nother "+other+"\n")
	p := begin(t, nil, "serve", "--listen", "tcp:127.0.0.1:0", "--api-key-file", keys)
	p.url = "http://localhost"
	if status, a := p.run("echo hello"); status != 401 || a["code"] != "authentication_required" {
		t.Errorf("without a key: %d %v", status, a)
	}
	for _, wrong := range []string{"x", strings.Repeat("x", 40), coder + "c", coder[1:], "sha256:" + coder, coder + " " + other} {
		p.key = wrong
		for _, path := range []string{"/v1/run", "/v1/sandboxes", "/mcp"} {
			p.want(401, "POST", path, map[string]any{"cmd": []string{"true"}})
		}
		if status, a := p.do("GET", "/metrics", nil); status != 401 && status != 200 {
			t.Errorf("the key %q: %d %v", wrong, status, a)
		}
	}
	p.key = coder
	p.prints("hello\n", "echo hello")
	at, box := p.sandbox(map[string]any{})
	if box["agent_id"] != "coder" {
		t.Errorf("a sandbox: %v", box)
	}
	if status, a := p.do("GET", at, nil, "X-Agent-Id", "other"); status < 400 {
		t.Errorf("the coder calls itself other: %d %v", status, a)
	}
	p.key = other
	for _, method := range []string{"GET", "DELETE"} {
		p.want(404, method, at, nil)
	}
	if status, a := p.do("GET", "/v1/sandboxes", nil, "Host", "evil.example"); status != 421 && status != 403 && status != 400 {
		t.Errorf("a name that was pointed here: %d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	for _, secret := range []string{coder, other} {
		if strings.Contains(p.logged(), secret) {
			t.Error("a key stands in the log")
		}
	}
}

// call runs a subcommand and returns what it prints.
func call(t *testing.T, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command(brigd(t), args...)
	cmd.Stdin = strings.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &stderr)
	}
	return string(out)
}

func TestTokens(t *testing.T) {
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/issuer")
	call(t, "", "token", "keygen", "--out", d+"/stranger")
	mint := func(key string, more ...string) string {
		return strings.TrimSpace(call(t, "", append([]string{"token", "mint", "--key", d + "/" + key, "--agent", "ci"}, more...)...))
	}
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--token-key", d+"/issuer.pub", "--state-dir", d+"/state", "--require-token",
		"--audit", d+"/a", "--audit-key", d+"/issuer.key", "--audit-argv", "--audit-sync", "always")
	p.ran(401, "true")
	p.key = mint("stranger.key")
	p.ran(401, "true")
	p.key = mint("issuer.key", "--runs", "2")
	for _, want := range []int{200, 200, 403} {
		p.ran(want, "true")
	}
	p.key = mint("issuer.key")
	p.prints("hello\n", "echo hello")
	call(t, p.key, "token", "revoke", "--state-dir", d+"/state", "--reason", "test")
	if status, a := p.run("true"); status != 401 && status != 403 {
		t.Errorf("a revoked token: %d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	call(t, "", "audit", "verify", "--key", d+"/issuer.pub", d+"/a")
	log := must.Get(os.ReadFile(d + "/a"))(t)
	if strings.Contains(p.logged(), p.key) || bytes.Contains(log, []byte(p.key)) {
		t.Error("a token stands in a log")
	}
	if !bytes.Contains(log, []byte("echo hello")) {
		t.Error("the commands are not in the audit log")
	}
}

// A caller without a valid key, token or agent's certificate is refused, whatever kind of connection it has.
func TestNobody(t *testing.T) {
	keys := must.Get(listen.ParseKeys("coder " + strings.Repeat("k", 40)))(t)
	with := func(name string, header ...string) *http.Request {
		r := must.Get(http.NewRequest("GET", "http://x/", nil))(t)
		for _, h := range header {
			r.Header.Add("Authorization", h)
		}
		if name != "-" {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: name}}}}}
		}
		return r
	}
	named := func(agent string) func(string, time.Time) (engine.Caller, *job.Refusal) {
		return func(string, time.Time) (engine.Caller, *job.Refusal) { return engine.Caller{Agent: agent}, nil }
	}
	key := "Bearer " + strings.Repeat("k", 40)
	for _, x := range []struct {
		a     *authenticator
		r     *http.Request
		agent string // "" is a refusal
	}{
		{&authenticator{}, with("-"), ""},
		{&authenticator{}, with("-", key), ""},
		{&authenticator{}, with("builder"), "builder"},
		{&authenticator{}, with("../builder"), ""},
		{&authenticator{}, with(""), ""},
		{&authenticator{}, with("default"), ""},
		{&authenticator{}, with("uid-1000"), ""},
		{&authenticator{tokens: named("coder")}, with("-", key), "coder"},
		{&authenticator{tokens: named("default")}, with("-", key), ""},
		{&authenticator{tokens: named("uid-0")}, with("-", key), ""},
		{&authenticator{}, with("builder", key), ""}, // a key that cannot be checked is not left aside
		{&authenticator{always: true}, with("builder"), ""},
		{&authenticator{keys: keys}, with("-", key), "coder"},
		{&authenticator{keys: keys}, with("builder", key), "coder"},
		{&authenticator{keys: keys}, with("-", key, key), ""},
		{&authenticator{keys: keys}, with("-", "Basic "+strings.Repeat("k", 40)), ""},
		{&authenticator{keys: keys}, with("-", "Bearer "), ""},
		{&authenticator{keys: keys}, with("builder", "Bearer wrong"), ""},
	} {
		c, no := x.a.caller(x.r)
		if c.Agent != x.agent || (no == nil) != (x.agent != "") {
			t.Errorf("%+v: %q, %v; want %q", x.r.Header, c.Agent, no, x.agent)
		}
	}
}

// An MCP client on stdin and stdout: nothing but the protocol is on stdout.
func TestMCPStdio(t *testing.T) {
	t.Run("until its input ends", func(t *testing.T) {
		stdioClient(t, func(_ *os.Process, in io.Closer) error { return in.Close() })
	})
	t.Run("until a signal", func(t *testing.T) {
		stdioClient(t, func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGTERM) })
	})
}

// stdio starts brigd mcp with pipes.
func stdio(t *testing.T, flags ...string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader) {
	t.Helper()
	cmd = exec.Command(brigd(t), append([]string{"mcp"}, flags...)...)
	in, out = must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, in, out
}

func stdioClient(t *testing.T, end func(*os.Process, io.Closer) error) {
	cmd, in, out := stdio(t, "--agent", "desk")
	answers := json.NewDecoder(out)
	ask := func(message string) (a map[string]any) {
		t.Helper()
		must.Get(io.WriteString(in, message+"\n"))(t)
		for a["id"] == nil {
			a = nil
			must.Do(t, answers.Decode(&a))
		}
		return a
	}
	a := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if a["result"] == nil {
		t.Errorf("initialize: %v", a)
	}
	must.Get(io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"))(t)
	a = ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_command","arguments":{"cmd":["echo","from the jail"]}}}`)
	if text, err := json.Marshal(a); err != nil || !bytes.Contains(text, []byte("from the jail")) {
		t.Errorf("run_command: %s, %v", text, err)
	}
	must.Do(t, end(cmd.Process, in))
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestMCPByHTTP(t *testing.T) {
	d := dir(t)
	key := strings.Repeat("k", 40)
	p := begin(t, nil, "mcp", "--http", "--listen", "tcp:127.0.0.1:0", "--api-key-file", file(t, d+"/keys", "coder "+key))
	p.url = "http://localhost"
	if status, a := p.initialize(); status != 401 {
		t.Errorf("without a key: %d %v", status, a)
	}
	p.key = key
	if status, a := p.initialize(); status != 200 || !strings.Contains(a["text"].(string), "serverInfo") {
		t.Errorf("%d %v", status, a)
	}
	p.want(200, "GET", "/healthz", nil)
	p.ran(404, "true")
	p.signal(syscall.SIGTERM) // a session is open
	p.end()
}
