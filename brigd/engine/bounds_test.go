package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/brigd/audit"
	"brig/brigd/policy"
	"brig/internal/test/must"
	"brig/nsjail"
)

// What every jail begins with is a ceiling: a request may ask for less.
func TestBaseIsACeiling(t *testing.T) {
	hour, second := nsjail.Duration(time.Hour), nsjail.Duration(time.Second)
	for name, c := range map[string]struct {
		base nsjail.Limits
		r    Request
		wall nsjail.Duration
		mem  nsjail.Bytes
		cpus float64
	}{
		"defaults": {nsjail.Limits{}, Request{}, DefaultTimeout, 32 << 20, 0},
		"asked":    {nsjail.Limits{}, Request{Timeout: hour, Memory: 1 << 30, CPUs: 2}, hour, 1 << 30, 2},
		"base":     {nsjail.Limits{Wall: second, Memory: 64 << 20, CPUs: 0.5}, Request{}, second, 64 << 20, 0.5},
		"more than base": {nsjail.Limits{Wall: second, Memory: 64 << 20, CPUs: 0.5},
			Request{Timeout: hour, Memory: 1 << 30, CPUs: 2}, second, 64 << 20, 0.5},
		"less than base": {nsjail.Limits{Wall: hour, Memory: 64 << 20, CPUs: 1},
			Request{Timeout: second, Memory: 1 << 20, CPUs: 0.1}, second, 1 << 20, 0.1},
		"no wall":  {nsjail.Limits{Wall: -1}, Request{}, 2 * hour, 32 << 20, 0},
		"for ever": {nsjail.Limits{}, Request{Timeout: 1e9 * second}, 2 * hour, 32 << 20, 0},
	} {
		q := &requests{images: &images{}, defaults: &defaults{spec: nsjail.Spec{Limits: c.base}, timeout: DefaultTimeout,
			maxTimeout: 2 * hour, memory: 32 << 20}}
		c.r.Cmd = []string{"id"}
		j, no := q.job(Caller{}, &c.r)
		if no != nil {
			t.Fatal(no)
		}
		q.defaults.fill(j, &c.r)
		if l := j.Spec.Limits; l.Wall != c.wall || l.Memory != c.mem || l.CPUs != c.cpus ||
			l.OutputLimit != DefaultOutputLimit {
			t.Errorf("%s: %v %v %v", name, l.Wall, l.Memory, l.CPUs)
		}
		if said := len(j.Verdict.Narrowed) > 0; said != (c.wall == 2*hour) {
			t.Errorf("%s: %q", name, j.Verdict.Narrowed)
		}
	}
}

// A limit of output holds for a stream, too.
func TestStreamIsBounded(t *testing.T) {
	e := newEngine(t, Options{Policies: []*policy.Policy{parsed(t, `{"open":true,"limits":{"output":"1k"}}`)}})
	got := 0
	a := e.Run(context.Background(), Caller{},
		&Request{Cmd: []string{"/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' 'x'"}},
		func(v Event) { got += len(v.Data) })
	if got > 1024 || a.Truncated == nil || int64(got)+a.Truncated.Stdout != 100000 {
		t.Errorf("%d bytes came, %+v", got, a.Truncated)
	}
}

// Request.Watch gets the start of a run and all its output, and the Response is the same as without it.
func TestWatch(t *testing.T) {
	e := newEngine(t, Options{})
	got, first := map[string]int{}, ""
	r := &Request{Cmd: []string{"/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' 'x'; echo err >&2"}, MaxOutput: 1000,
		Watch: func(v Event) {
			got[v.Type] += len(v.Data)
			first = cmp.Or(first, v.Type)
		}}
	a := e.Run(context.Background(), Caller{}, r, nil)
	if first != "start" || got["stdout"] != 100000 || got["stderr"] != 4 {
		t.Errorf("%s first, then %v", first, got)
	}
	if len(a.Stdout) > 1100 || a.Stderr != "err\n" || a.Truncated == nil {
		t.Errorf("%d bytes, %q, %+v", len(a.Stdout), a.Stderr, a.Truncated)
	}
}

// A run that does not happen changes nothing in its sandbox.
func TestRefusedRunsPutNothing(t *testing.T) {
	log := must.Get(audit.Open(audit.Options{Path: filepath.Join(t.TempDir(), "audit")}))(t)
	e := newEngine(t, Options{Audit: log})
	ctx := context.Background()
	box := must.Get(e.CreateSandbox(ctx, Caller{}, &SandboxRequest{}))(t)
	r := Request{Cmd: []string{"cat", "/input/f"}, Sandbox: box.ID, Files: map[string]File{"f": {Data: []byte("here")}}}
	if a := e.Run(ctx, Caller{}, &r, nil); a.Stdout != "here" {
		t.Errorf("%+v %+v", a, a.Error)
	}
	must.Do(t, log.Close())
	r.Files = map[string]File{"g": {Data: []byte("there")}}
	if a := e.Run(ctx, Caller{}, &r, nil); a.Error == nil || a.Error.Layer != "audit" {
		t.Errorf("%+v %+v", a, a.Error)
	}
	if _, _, err := e.GetFile(Caller{}, box.ID, "/input/g"); err == nil {
		t.Error("the file of a refused run is there")
	}
}

// A policy's bounds of what comes in hold for sandboxes, too.
func TestInputsBoundSandboxes(t *testing.T) {
	e := newEngine(t, Options{Policies: []*policy.Policy{parsed(t, `{"open":true,"inputs":{"file_bytes":10}}`)}})
	ctx := context.Background()
	if _, err := e.CreateSandbox(ctx, Caller{},
		&SandboxRequest{Files: map[string]File{"f": {Data: make([]byte, 11)}}}); err == nil {
		t.Error("a sandbox was made with a file of 11 bytes")
	}
	box := must.Get(e.CreateSandbox(ctx, Caller{}, &SandboxRequest{}))(t)
	for n, want := range map[int]bool{10: true, 11: false} {
		if _, err := e.PutFile(Caller{}, box.ID, "f", strings.NewReader(strings.Repeat("x", n)), 0); (err == nil) != want {
			t.Errorf("a file of %d bytes: %v", n, err)
		}
	}
}

// A secret is not to be read where the payload or the caller has brought it besides its output.
func TestSecretsElsewhere(t *testing.T) {
	dir := t.TempDir()
	log := must.Get(audit.Open(audit.Options{Path: filepath.Join(dir, "audit")}))(t)
	defer log.Close()
	e := newEngine(t, Options{Audit: log})
	secrets := map[string]string{"B": "hunter22"}
	for name, r := range map[string]Request{
		"command": {Cmd: []string{"/no/hunter22"}},
		"network": {Language: "python", Network: []string{"example.org:443"},
			Code: "import os, socket\ntry: socket.getaddrinfo(os.environ['B'] + '.example.com', 443)\nexcept OSError as e: print(e)\n"},
	} {
		r.Secrets = secrets
		a := e.Run(context.Background(), Caller{}, &r, nil)
		text, err := json.Marshal(a)
		if err != nil || strings.Contains(string(text), "hunter22") {
			t.Errorf("%s: %v %s", name, err, text)
		}
		if name == "network" && !strings.Contains(string(a.Network), "***.example.com") {
			t.Errorf("the look-up is not in the summary: %s", a.Network)
		}
	}
	for kind, list := range lines(t, filepath.Join(dir, "audit")) {
		text, err := json.Marshal(list)
		if err != nil || strings.Contains(string(text), "hunter22") {
			t.Errorf("%s: %v %s", kind, err, text)
		}
	}
	for name, value := range map[string]string{"short": "abc", "long": strings.Repeat("x", 16<<10+1),
		"nul": "hunter22\x00"} {
		a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"true"}, Secrets: map[string]string{"B": value}},
			nil)
		if a.Error == nil || strings.Contains(a.Error.Message, "hunter22") {
			t.Errorf("%s: %+v %+v", name, a, a.Error)
		}
	}
}

// A run without a network that could not resolve a name gets a hint about that, and no other run does.
func TestHints(t *testing.T) {
	e := newEngine(t, Options{})
	const fails = "echo 'socket.gaierror: [Errno -3] Temporary failure in name resolution' >&2; exit 1"
	for script, want := range map[string]bool{fails: true, "head -c 100000 /dev/zero >&2; " + fails: true,
		fails + "\n": true, strings.Replace(fails, "exit 1", "exit 0", 1): false, "exit 1": false,
		strings.Replace(fails, ">&2", "", 1): false} {
		for _, stream := range []func(Event){nil, func(Event) {}} {
			a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"sh", "-c", script}}, stream)
			if (len(a.Hints) == 1) != want {
				t.Errorf("%.60s: %+v", script, a.Hints)
			}
		}
	}
	if a := e.Run(context.Background(), Caller{},
		&Request{Cmd: []string{"sh", "-c", fails}, Network: []string{"example.org:443"}}, nil); len(a.Hints) > 0 {
		t.Errorf("with a network: %+v", a.Hints)
	}
	a := e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"sh", "-c", "sleep 99 & :"}}, nil)
	if len(a.Hints) != 1 || !strings.Contains(a.Hints[0], "1 process was still running when the command ended") {
		t.Errorf("with a process that is left: %+v", a.Hints)
	}
	a = e.Run(context.Background(), Caller{}, &Request{Cmd: []string{"getent", "hosts", "registry.example"}}, nil)
	if len(a.Hints) != 1 || !strings.Contains(a.Hints[0], `looked for registry.example: name what it may reach in the field network`) {
		t.Errorf("of a name that was looked up: %+v", a.Hints)
	}
}
