package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/cli"
	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the suite as root and as an ordinary user, against the real binary: a jail takes over its process
// before Go starts.
func TestMain(m *testing.M) {
	os.Exit(asuser.Main(m, asuser.Build("./brigd/cmd/brigd", "brigd"), asuser.Build("./brigd/cmd/brigd-queue", "brigd-queue"), shareReadme))
}

// brigd is the binary under test, which asuser has built for both users; BRIGD_BIN names another.
func brigd(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("BRIGD_BIN"); bin != "" {
		return must.Get(filepath.Abs(bin))(t)
	}
	return filepath.Join(asuser.Dir(), "brigd")
}

// proc is a brigd that runs.
type proc struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // of its HTTP server
	client *http.Client
	key    string        // for the header Authorization
	ready  chan struct{} // closed once it serves

	mu   sync.Mutex
	log  bytes.Buffer
	addr string
}

// dir is a short one: a socket's path has 107 bytes.
func dir(t *testing.T) string {
	t.Helper()
	d := must.Get(os.MkdirTemp("", "b"))(t)
	t.Cleanup(func() { os.RemoveAll(d) })
	return d
}

// begin starts brigd and waits until it is ready, or has ended.
func begin(t *testing.T, env []string, args ...string) *proc {
	t.Helper()
	return beginCmd(t, exec.Command(brigd(t), args...), env)
}

func beginCmd(t *testing.T, cmd *exec.Cmd, env []string) *proc {
	t.Helper()
	p := &proc{t: t, cmd: cmd, ready: make(chan struct{}), url: "http://brigd"}
	p.cmd.Env = append(os.Environ(), env...)
	stderr := must.Get(p.cmd.StderrPipe())(t)
	must.Do(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	go p.read(stderr)
	select {
	case <-p.ready:
	case <-time.After(30 * time.Second):
		t.Fatalf("brigd is not ready:\n%s", p.logged())
	}
	p.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		network, address, _ := strings.Cut(p.addr, ":")
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}}
	return p
}

// read collects the log, which tells when it is ready and where.
func (p *proc) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	said := false
	for lines.Scan() {
		line := lines.Text()
		p.mu.Lock()
		p.log.WriteString(line + "\n")
		if _, rest, ok := strings.Cut(line, "msg=ready listen=["); ok && !said {
			p.addr, _, _ = strings.Cut(rest, "]")
			p.addr, _, _ = strings.Cut(p.addr, " ")
			said = true
			close(p.ready)
		}
		p.mu.Unlock()
	}
	if !said {
		close(p.ready) // it has ended
	}
}

func (p *proc) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// do sends a request, and returns the status and the JSON answer.
func (p *proc) do(method, path string, body any, header ...string) (int, map[string]any) {
	p.t.Helper()
	var text bytes.Buffer
	if body != nil {
		must.Do(p.t, json.NewEncoder(&text).Encode(body))
	}
	r := must.Get(http.NewRequest(method, p.url+path, &text))(p.t)
	r.Header.Set("Content-Type", "application/json")
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w, err := p.client.Do(r)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer w.Body.Close()
	answer := map[string]any{}
	data, err := io.ReadAll(w.Body)
	if err != nil {
		return w.StatusCode, map[string]any{"error": err.Error()}
	}
	if json.Unmarshal(data, &answer) != nil {
		answer["text"] = string(data)
	}
	return w.StatusCode, answer
}

// want sends a request that must be answered with this status, and returns the answer.
func (p *proc) want(status int, method, path string, body any, header ...string) map[string]any {
	p.t.Helper()
	got, a := p.do(method, path, body, header...)
	if got != status {
		p.t.Errorf("%s %s: %d, not %d: %v\n%s", method, path, got, status, a, p.logged())
	}
	return a
}

// sandbox makes one, and returns its path and the answer.
func (p *proc) sandbox(body map[string]any, header ...string) (string, map[string]any) {
	p.t.Helper()
	status, a := p.do("POST", "/v1/sandboxes", body, header...)
	if status != 201 {
		p.t.Fatalf("no sandbox: %d %v\n%s", status, a, p.logged())
	}
	return "/v1/sandboxes/" + a["id"].(string), a
}

// ran runs a shell script that must be answered with this status, and returns the answer.
func (p *proc) ran(status int, script string, header ...string) map[string]any {
	p.t.Helper()
	return p.want(status, "POST", "/v1/run", map[string]any{"cmd": []string{"/bin/sh", "-c", script}}, header...)
}

// prints runs a shell script that must end well with this output.
func (p *proc) prints(want, script string, header ...string) {
	p.t.Helper()
	if a := p.ran(200, script, header...); a["stdout"] != want {
		p.t.Errorf("%s: %v, and not %q\n%s", script, a, want, p.logged())
	}
}

// run runs a shell script in a jail.
func (p *proc) run(script string, header ...string) (int, map[string]any) {
	p.t.Helper()
	return p.do("POST", "/v1/run", map[string]any{"cmd": []string{"/bin/sh", "-c", script}}, header...)
}

// until waits for a line of brigd's log.
func (p *proc) until(key, value string) {
	p.t.Helper()
	for range 3000 {
		_, h := p.do("GET", "/healthz", nil)
		if d, ok := h["details"].(map[string]any); ok && d[key] == value {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.t.Fatalf("%s is never %s:\n%s", key, value, p.logged())
}

// end waits for brigd's end, which must be a good one.
func (p *proc) end() {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			p.t.Errorf("brigd ended with %v:\n%s", err, p.logged())
		}
	case <-time.After(30 * time.Second):
		p.t.Fatalf("brigd does not end:\n%s", p.logged())
	}
}

// signal sends one.
func (p *proc) signal(s os.Signal) {
	p.t.Helper()
	must.Do(p.t, p.cmd.Process.Signal(s))
}

// file writes one, for the caller alone.
func file(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// refuses starts a brigd that must not start, for the reason that stands in want.
func refuses(t *testing.T, env []string, args []string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, brigd(t), args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != cli.ExitUsage {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	for _, w := range want {
		if !strings.Contains(string(out), w) {
			t.Errorf("%q: %q is not in %q", args, w, out)
		}
	}
	if strings.Count(string(out), "brigd: ") != 1 {
		t.Errorf("%q: not one error: %q", args, out)
	}
}
