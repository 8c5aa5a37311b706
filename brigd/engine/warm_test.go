package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/internal/test/must"
	"brig/nsjail"
)

// warmEngine has one parked interpreter of Python.
func warmEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Warm = []Warm{{Language: "py", Count: 1, Imports: []string{"json"}}}
	e := newEngine(t, o)
	must.Do(t, e.Prestart(t.Context()))
	return e
}

// awaitWarm waits until as many interpreters as are wanted wait for a run.
func awaitWarm(t *testing.T, e *Engine) {
	t.Helper()
	for range 2000 {
		if w := e.Warmth(); len(w) == 1 && w[0].Parked == 1 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no interpreter is parked: %+v", e.Warmth())
}

func TestWarmInterpreters(t *testing.T) {
	e := warmEngine(t, Options{})
	box := must.Get(e.CreateSandbox(context.Background(), Caller{}, &SandboxRequest{}))(t)
	const code = "import sys, os\nprint(sys.argv[1:], sys.stdin.read(), 'json' in sys.modules, os.environ.get('A'))"
	for name, x := range map[string]struct {
		change func(*Request)
		warm   bool
	}{
		"nothing":          {func(*Request) {}, true},
		"another name":     {func(r *Request) { r.Language = "Python3" }, true},
		"arguments":        {func(r *Request) { r.Args = []string{"a b"} }, true},
		"stdin":            {func(r *Request) { r.Stdin = "in" }, true},
		"a time limit":     {func(r *Request) { r.Timeout = Seconds(10 * time.Second) }, true},
		"output":           {func(r *Request) { r.MaxOutput = 1000 }, true},
		"an agent":         {func(r *Request) { r.Agent = "someone" }, true},
		"a stream":         {func(r *Request) { r.StdinReader = strings.NewReader("in") }, true},
		"a variable":       {func(r *Request) { r.Env = map[string]string{"A": "x"} }, false},
		"a secret":         {func(r *Request) { r.Secrets = map[string]string{"A": "hunter22"} }, false},
		"a file":           {func(r *Request) { r.Files = map[string]File{"f": {Data: []byte("x")}} }, false},
		"a directory":      {func(r *Request) { r.Cwd = "/tmp" }, false},
		"a network":        {func(r *Request) { r.Network = []string{"example.org:443"} }, false},
		"a sandbox":        {func(r *Request) { r.Sandbox = box.ID }, false},
		"a search path":    {func(r *Request) { r.Env = map[string]string{"PYTHONPATH": "/tmp"} }, false},
		"another language": {func(r *Request) { r.Language, r.Code = "sh", "echo" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			awaitWarm(t, e)
			r := Request{Language: "python", Code: code}
			x.change(&r)
			before := e.Warmth()[0]
			a := e.Run(context.Background(), Caller{}, &r, nil)
			if a.Status != "ok" || a.Warm != x.warm {
				t.Errorf("warm %v, %q %q %+v", a.Warm, a.Stdout, a.Stderr, a.Error)
			}
			if r.Language != "sh" && strings.Contains(a.Stdout, "True") != x.warm {
				t.Errorf("%q", a.Stdout)
			}
			after := e.Warmth()[0]
			if taken, missed := after.Taken-before.Taken, after.Missed-before.Missed; x.warm != (taken == 1) ||
				(missed == 1) != (!x.warm && r.Language != "sh") {
				t.Errorf("%d taken, %d missed", taken, missed)
			}
		})
	}
}

// A run that a policy refuses does not reach an interpreter, and the limits that the policy sets for every request
// apply to parked interpreters.
func TestWarmInterpretersAndPolicies(t *testing.T) {
	e := warmEngine(t, Options{Policies: []*policy.Policy{parsed(t,
		`{"open":true,"limits":{"processes":7},"inputs":{"stdin_bytes":3}}`)}})
	const limit = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NPROC)[0] < 20)"
	if a := e.Run(context.Background(), Caller{}, &Request{Language: "python", Code: limit}, nil); !a.Warm || a.Stdout != "True\n" {
		t.Errorf("warm %v, %q %q", a.Warm, a.Stdout, a.Stderr)
	}
	awaitWarm(t, e)
	a := e.Run(context.Background(), Caller{}, &Request{Language: "python", Code: limit, Stdin: "four"}, nil)
	if a.Status != "refused" || e.Warmth()[0].Parked != 1 || e.Warmth()[0].Taken != 1 {
		t.Errorf("%+v, %+v", a, e.Warmth())
	}
}

// Interpreters that no run takes are replaced by those that requests ask for repeatedly, if these differ only in
// limits.
func TestWarmInterpretersAreReplaced(t *testing.T) {
	e := warmEngine(t, Options{})
	p := e.parkedFor(&job.Job{Language: "python"})
	age := func() {
		p.mu.Lock()
		p.used = time.Now().Add(-2 * warmIdle)
		p.mu.Unlock()
	}
	narrow := func(c *Request) func() *Response {
		return func() *Response { return e.Run(context.Background(), Caller{}, c, nil) }
	}
	e.needs.defaults.spec.Limits.Processes = 9 // as a token's policy would narrow it
	ask := narrow(&Request{Language: "python", Code: "1"})
	for range 3 {
		if ask().Warm {
			t.Fatal("a run with another limit is warm")
		}
	}
	age()
	if ask().Warm {
		t.Fatal("a run with another limit is warm")
	}
	e.parking.changes.Wait()
	awaitWarm(t, e)
	if !ask().Warm {
		t.Error("the interpreters are not replaced")
	}
	secret := narrow(&Request{Language: "python", Code: "1", Secrets: map[string]string{"A": "hunter22"}})
	for range 3 {
		age()
		secret()
	}
	e.parking.changes.Wait()
	for _, v := range p.now.Env {
		if strings.Contains(v, "hunter22") {
			t.Errorf("a secret of a request is in a parked interpreter: %q", p.now.Env)
		}
	}
	if len(e.Warmth()) != 1 {
		t.Error(e.Warmth())
	}
	if kept := fmt.Sprintf("%+v", p); strings.Contains(kept, "hunter22") {
		t.Errorf("a secret of a request is kept: %s", kept)
	}
}

// If the new interpreters do not start, the parked ones stay, and Options.WarmFailed is called.
func TestWarmInterpretersStay(t *testing.T) {
	failed := make(chan error, 1)
	e := warmEngine(t, Options{WarmFailed: func(_ string, err error) { failed <- err }})
	p := e.parkedFor(&job.Job{Language: "python"})
	to := *p.first.Clone()
	to.Args[0] = "/no/such/program"
	e.parking.change(p, to)
	select {
	case err := <-failed:
		if !strings.Contains(err.Error(), "/no/such/program") {
			t.Error(err)
		}
	default:
		t.Error("nobody hears of it")
	}
	if w := e.Warmth()[0]; w.Parked != 1 || w.Failed != 1 {
		t.Errorf("%+v", w)
	}
}

func TestPrestartErrors(t *testing.T) {
	for want, o := range map[string]Options{
		"cannot be started before":  {Warm: []Warm{{Language: "sh", Count: 1}}},
		"is not a language":         {Warm: []Warm{{Language: "cobol", Count: 1}}},
		"named twice":               {Warm: []Warm{{Language: "python", Count: 1}, {Language: "py", Count: 1}}},
		"0 is not a number from 1":  {Warm: []Warm{{Language: "python"}}},
		"no_such_module":            {Warm: []Warm{{Language: "python", Count: 1, Imports: []string{"no_such_module"}}}},
		"no module of python":       {Warm: []Warm{{Language: "python", Count: 1, Imports: []string{`"`}}}},
		"is refused":                {Warm: []Warm{{Language: "python", Count: 1}}, Policies: []*policy.Policy{parsed(t, `{"commands":["true"]}`)}},
		"a network by name belongs": {Warm: []Warm{{Language: "python", Count: 1}}, Base: nsjail.Spec{Net: nsjail.NetEgress}},
	} {
		e := newEngine(t, o)
		if err := e.Prestart(t.Context()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ";") {
			t.Errorf("%v; want %q and a remedy", err, want)
		}
		if len(e.Warmth()) != 0 {
			t.Errorf("%q: %+v", want, e.Warmth())
		}
	}
}
