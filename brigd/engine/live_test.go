package engine

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/brigd/policy"
	"brig/internal/test/must"
)

// A sandbox that has been prepared becomes a living one, with its files, its runs and its bounds.
func TestSandboxComesToLife(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := newSandbox(t, e, Caller{}, SandboxRequest{Files: map[string]File{"in": {Data: []byte("given")}}})
	inSandbox(t, e, Caller{}, box.ID, "echo before >/work/f")
	if _, err := e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Shell: "true"}, nil); codeOf(err) != "not_living" {
		t.Errorf("%v", err)
	}
	early := make(chan *Response) // it has a jail of its own, and keeps it
	begun := make(chan bool, 1)
	go func() {
		early <- e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Timeout: Seconds(time.Minute),
			Cmd: []string{"sh", "-c", "echo up; until [ -e /work/go ]; do sleep 0.01; done; echo $$"}},
			func(v Event) {
				if v.Type == "stdout" && v.Data == "up\n" {
					begun <- true
				}
			})
	}()
	<-begun
	info := must.Get(e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{Env: map[string]string{"A": "b"}}))(t)
	if info.Living == nil || info.Living.State != "running" {
		t.Errorf("%+v", info.Living)
	}
	must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Tag: "s", Shell: "cat /input/in /work/f; echo $A; sleep 1000"}, nil))(t)
	awaitOutput(t, e, box.ID, "s", "givenbefore\nb\n")
	if got := inSandbox(t, e, Caller{}, box.ID, "touch /work/go; echo $A"); got != "b\n" {
		t.Errorf("a run in the box: %q", got)
	}
	apart := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Apart: true,
		Cmd: []string{"sh", "-c", "cat f; echo apart >g; echo $A; grep -l sleep /proc/[0-9]*/comm"}}, nil)
	if apart.Stdout != "before\n\n" {
		t.Errorf("a run apart: %+v, %+v", apart, apart.Error)
	}
	if got := inSandbox(t, e, Caller{}, box.ID, "cat g"); got != "apart\n" {
		t.Errorf("what a run apart has left: %q", got)
	}
	if a := <-early; a.Status != "ok" || a.Error != nil {
		t.Errorf("the run from before: %+v", a)
	}
	if _, err := e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{}); codeOf(err) != "already_living" {
		t.Errorf("a second box: %v", err)
	}
}

// What is refused leaves the sandbox as it was.
func TestLiveIsRefused(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := newSandbox(t, e, Caller{}, SandboxRequest{})
	for name, c := range map[string]struct {
		r    BoxRequest
		code string
	}{"memory": {BoxRequest{Memory: -1}, "negative_limit"}, "image": {BoxRequest{Image: "none"}, "image_not_allowed"},
		"network": {BoxRequest{Network: []string{"no such rule!"}}, "bad_network_rule"}} {
		_, err := e.LiveSandbox(t.Context(), Caller{}, box.ID, &c.r)
		if got := codeOf(err); got != c.code {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.code)
		}
		if got := inSandbox(t, e, Caller{}, box.ID, "echo still"); got != "still\n" {
			t.Errorf("%s: afterwards %q", name, got)
		}
	}
	if _, err := e.LiveSandbox(t.Context(), Caller{Agent: "other"}, box.ID, &BoxRequest{}); codeOf(err) != "not_found" {
		t.Errorf("another's: %v", err)
	}
	p := must.Get(policy.Parse([]byte(`{"open":true,"sandbox":{"operations":["create"]}}`)))(t)
	quiet := must.Get(New(Options{Policies: []*policy.Policy{p}}))(t)
	defer quiet.Close()
	box = newSandbox(t, quiet, Caller{}, SandboxRequest{})
	if _, err := quiet.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{}); codeOf(err) != "operation_not_allowed" {
		t.Errorf("without the operation: %v", err)
	}
}

// Many callers make a sandbox live at once: it has one box.
func TestOneBoxOfMany(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := newSandbox(t, e, Caller{}, SandboxRequest{})
	var group sync.WaitGroup
	codes := make(chan string, 8)
	for range cap(codes) {
		group.Go(func() {
			_, err := e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{})
			codes <- codeOf(err)
		})
	}
	group.Wait()
	close(codes)
	made := 0
	for code := range codes {
		if code == "" {
			made++
		} else if code != "already_living" {
			t.Error(code)
		}
	}
	if made != 1 {
		t.Errorf("%d boxes", made)
	}
	must.Do(t, e.DeleteSandbox(Caller{}, box.ID))
	if e.processes.lives.of(box.ID) != nil {
		t.Error("the box has outlived its sandbox")
	}
}

// A box that has ended is made again, with the files of the sandbox.
func TestBoxIsMadeAgain(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	inSandbox(t, e, Caller{}, box.ID, "echo kept >/work/f")
	l := e.processes.lives.of(box.ID)
	_, _ = l.box.Close() // as if a limit had ended it
	<-l.over
	r := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"true"}}, nil)
	if r.Error == nil || r.Error.Code != "box_ended" || !strings.Contains(r.Error.NextSteps[0], "/live") {
		t.Errorf("%+v", r.Error)
	}
	must.Get(e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{}))(t)
	if got := inSandbox(t, e, Caller{}, box.ID, "cat /work/f"); got != "kept\n" {
		t.Errorf("%q", got)
	}
}

// After a restart a sandbox of the store has the files of the moment before it came to life, and can do so again.
func TestLivingSandboxAfterARestart(t *testing.T) {
	o := Options{Store: filepath.Join(t.TempDir(), "store"), SaveEvery: time.Hour}
	e := must.Get(New(o))(t)
	box := newSandbox(t, e, Caller{}, SandboxRequest{})
	inSandbox(t, e, Caller{}, box.ID, "echo before >/work/f")
	must.Get(e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{}))(t)
	inSandbox(t, e, Caller{}, box.ID, "echo after >/work/f")
	must.Do(t, e.Close())
	e = must.Get(New(o))(t)
	defer e.Close()
	if got := inSandbox(t, e, Caller{}, box.ID, "cat /work/f"); got != "before\n" {
		t.Errorf("%q", got)
	}
	must.Get(e.LiveSandbox(t.Context(), Caller{}, box.ID, &BoxRequest{}))(t)
}
