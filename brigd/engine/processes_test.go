package engine

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/brigd/policy"
	"brig/brigd/share"
	"brig/brigd/workspace"
	"brig/internal/test/must"
)

func livingBox(t *testing.T, e *Engine, r SandboxRequest) *SandboxInfo {
	t.Helper()
	r.Living = true
	return must.Get(e.CreateSandbox(t.Context(), Caller{}, &r))(t)
}

// awaitOutput reads the output of a process until it has a text.
func awaitOutput(t *testing.T, e *Engine, id, name, want string) *ProcessOutput {
	t.Helper()
	var all strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	for at := int64(-1); ; {
		o := must.Get(e.ProcessOutput(ctx, Caller{}, id, name, at, maxWait))(t)
		if ctx.Err() != nil {
			t.Fatalf("%s has not written %q: %q", name, want, all.String())
		}
		for _, p := range o.Output {
			all.WriteString(p.Data)
		}
		if strings.Contains(all.String(), want) {
			return o
		}
		if at = o.Next; !o.Running {
			t.Fatalf("%s ended without %q: %q, %+v", name, want, all.String(), o.Result)
		}
	}
}

// A server that one call starts is there for the next ones, and ends with the sandbox.
func TestLivingSandbox(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{BoxRequest: BoxRequest{Env: map[string]string{"A": "b"}}})
	if box.Living == nil || box.Living.State != "running" || box.SaveEvery != 0 {
		t.Errorf("%+v", box.Living)
	}
	p := must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Tag: "server", Stdin: true,
		Shell: "echo up $A $$; while read -r x; do echo got $x; [ $x != end ] || exit 3; done"}, nil))(t)
	if !p.Running || p.PID < 2 || p.Tag != "server" {
		t.Errorf("%+v", p)
	}
	awaitOutput(t, e, box.ID, "server", "up b "+strconv.Itoa(p.PID)+"\n")
	r := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"sh", "-c", "echo x >/work/f"}}, nil)
	if r.Status != "ok" {
		t.Errorf("%+v", r)
	}
	r = e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Language: "python", Code: "print(open('/work/f').read())"}, nil)
	if r.Stdout != "x\n\n" {
		t.Errorf("%+v", r)
	}
	if list, _, err := e.ListFiles(Caller{}, box.ID, "/input", true, ""); err != nil || len(list) > 1 {
		t.Error(list, err)
	}
	n := must.Get(e.ProcessInput(t.Context(), Caller{}, box.ID, strconv.Itoa(p.PID), strings.NewReader("a\nend\n"), false))(t)
	if o := awaitOutput(t, e, box.ID, "server", "got end\n"); n != 6 {
		t.Error(n, o)
	}
	for o := awaitOutput(t, e, box.ID, "server", ""); o.Running; {
		o = must.Get(e.ProcessOutput(t.Context(), Caller{}, box.ID, p.ID, o.Next, maxWait))(t)
		if !o.Running && o.Result.ExitCode != 3 {
			t.Errorf("%+v", o.Result)
		}
	}
	must.Do(t, e.DeleteSandbox(Caller{}, box.ID))
	if _, err := e.Processes(Caller{}, box.ID); err == nil {
		t.Error("it is still there")
	}
}

// What a whole box has cannot be asked for by one command.
func TestOfTheBox(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	r := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"true"}, Network: []string{"example.org:443"}}, nil)
	if r.Error == nil || r.Error.Code != "of_the_box" {
		t.Errorf("%+v", r.Error)
	}
	other := must.Get(e.CreateSandbox(t.Context(), Caller{}, &SandboxRequest{}))(t)
	if _, err := e.Processes(Caller{}, other.ID); err == nil {
		t.Error("another sandbox has processes")
	}
	if _, err := e.CreateSandbox(t.Context(), Caller{}, &SandboxRequest{BoxRequest: BoxRequest{Memory: 1 << 20}}); err == nil {
		t.Error("the memory of what does not live is taken")
	}
}

// A box that is quiet is frozen, and a call thaws it.
func TestIdleBoxFreezes(t *testing.T) {
	e := must.Get(New(Options{BoxIdle: 20 * time.Millisecond}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	p := must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Shell: "echo up; sleep 1000"}, nil))(t)
	awaitOutput(t, e, box.ID, p.ID, "up")
	state := func() string { return must.Get(e.Sandbox(Caller{}, box.ID))(t).Living.State }
	for state() != "frozen" {
		time.Sleep(time.Millisecond)
	}
	if r := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"echo", "x"}}, nil); r.Stdout != "x\n" {
		t.Errorf("%+v", r)
	}
	for state() != "frozen" {
		time.Sleep(time.Millisecond)
	}
	must.Do(t, e.DeleteProcess(Caller{}, box.ID, p.ID))
	if list := must.Get(e.Processes(Caller{}, box.ID))(t); len(list) != 0 {
		t.Error(list)
	}
}

// A box whose processes work is not frozen, though they write nothing.
func TestBusyBoxGoesOn(t *testing.T) {
	e := must.Get(New(Options{BoxIdle: 300 * time.Millisecond}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	p := must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Timeout: Seconds(time.Second),
		Shell: "while :; do :; done"}, nil))(t)
	l := e.processes.lives.of(box.ID)
	for <-l.procs.find(p.ID).started; l.procs.find(p.ID).running(); time.Sleep(10 * time.Millisecond) {
		if l.idle.Frozen() {
			t.Fatal("frozen at work")
		}
	}
	for !l.idle.Frozen() {
		time.Sleep(time.Millisecond)
	}
}

// A terminal has a size, echoes, and takes Ctrl-C.
func TestProcessTerminal(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Tag: "tty", TTY: &TerminalSize{30, 100},
		Shell: "trap 'echo int' INT; trap 'stty size' WINCH; stty size; while :; do sleep .05; done"}, nil))(t)
	awaitOutput(t, e, box.ID, "tty", "30 100")
	must.Get(e.ProcessInput(t.Context(), Caller{}, box.ID, "tty", strings.NewReader("\x03"), false))(t)
	awaitOutput(t, e, box.ID, "tty", "int\r\n")
	must.Do(t, e.ResizeProcess(Caller{}, box.ID, "tty", TerminalSize{31, 101}))
	awaitOutput(t, e, box.ID, "tty", "31 101")
	must.Do(t, e.SignalProcess(Caller{}, box.ID, "tty", "kill"))
	o := must.Get(e.ProcessOutput(context.Background(), Caller{}, box.ID, "tty", 1<<40, maxWait))(t)
	if o.Running || o.Result.Signal != "SIGKILL" {
		t.Errorf("%+v", o)
	}
}

// A living sandbox that nothing uses ends with its processes.
func TestLivingSandboxExpires(t *testing.T) {
	removed := make(chan string, 1)
	e := must.Get(New(Options{Sandboxes: workspace.StoreOptions{Removed: func(_ *workspace.Sandbox, by string, _ error) {
		removed <- by
	}}}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{TTL: Seconds(300 * time.Millisecond)})
	must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Cmd: []string{"sleep", "1000"}}, nil))(t)
	if by := <-removed; by != workspace.Expired {
		t.Error(by)
	}
}

// A box and each command in it are decided about by the policies, and what a command leaves is not bounded by limits.wall.
func TestLivingPolicies(t *testing.T) {
	for text, want := range map[string]string{
		`{"open":true,"limits":{"wall":"30s"}}`:                                            "operation_not_allowed",
		`{"open":true,"sandbox":{"operations":["create"]}}`:                                "operation_not_allowed",
		`{"open":true,"limits":{"wall":"30s"},"sandbox":{"operations":["create","live"]}}`: "",
		`{"open":true,"commands":["sh"],"sandbox":{"operations":["create","live"]}}`:       "",
	} {
		p := must.Get(policy.Parse([]byte(text)))(t)
		e := must.Get(New(Options{Policies: []*policy.Policy{p}}))(t)
		box, err := e.CreateSandbox(t.Context(), Caller{}, &SandboxRequest{Living: true})
		if no := asRefusal(err, "", ""); no != nil && no.Code != want || no == nil && want != "" {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err == nil {
			r := &ProcessRequest{Cmd: []string{"sleep", "1000"}}
			i, err := e.StartProcess(t.Context(), Caller{}, box.ID, r, nil)
			if allowed := p.Commands == nil; (err == nil) != allowed {
				t.Errorf("%s: %+v, %v", text, i, err)
			}
			r.Cmd = []string{"sh", "-c", "echo of $S"}
			r.Secrets = map[string]string{"S": "hunter22"}
			i = must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, r, nil))(t)
			awaitOutput(t, e, box.ID, i.ID, "of ***\n")
		}
		must.Do(t, e.Close())
	}
}

// Only who may use the sandbox has its processes.
func TestProcessesOfOthers(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	mine, other := Caller{Agent: "mine"}, Caller{Agent: "other"}
	box := must.Get(e.CreateSandbox(t.Context(), mine, &SandboxRequest{Living: true}))(t)
	p := must.Get(e.StartProcess(t.Context(), mine, box.ID, &ProcessRequest{Cmd: []string{"sleep", "1000"}}, nil))(t)
	for what, err := range map[string]error{
		"start":  second(e.StartProcess(t.Context(), other, box.ID, &ProcessRequest{Cmd: []string{"true"}}, nil)),
		"list":   second(e.Processes(other, box.ID)),
		"show":   second(e.Process(other, box.ID, p.ID)),
		"read":   second(e.ProcessOutput(t.Context(), other, box.ID, p.ID, 0, 0)),
		"write":  second(e.ProcessInput(t.Context(), other, box.ID, p.ID, strings.NewReader("x"), true)),
		"signal": e.SignalProcess(other, box.ID, p.ID, "KILL"), "size": e.ResizeProcess(other, box.ID, p.ID, TerminalSize{1, 1}),
		"end": e.DeleteProcess(other, box.ID, p.ID), "freeze": e.FreezeSandbox(other, box.ID), "thaw": e.ThawSandbox(other, box.ID),
	} {
		if no := asRefusal(err, "", ""); no == nil || no.Code != "not_found" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !must.Get(e.Process(mine, box.ID, p.ID))(t).Running {
		t.Error("it has ended")
	}
}

func second[T any](_ T, err error) error { return err }

// What is started is bounded, and its output is kept to a bound.
func TestManyProcesses(t *testing.T) {
	e := must.Get(New(Options{}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{})
	for range maxProcesses {
		must.Get(e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Cmd: []string{"sleep", "1000"}}, nil))(t)
	}
	_, err := e.StartProcess(t.Context(), Caller{}, box.ID, &ProcessRequest{Cmd: []string{"true"}}, nil)
	if no := asRefusal(err, "", ""); no == nil || no.Code != "too_many_processes" {
		t.Error(err)
	}
	for _, p := range must.Get(e.Processes(Caller{}, box.ID))(t) {
		must.Do(t, e.DeleteProcess(Caller{}, box.ID, p.ID))
	}
	for range 12 {
		p := must.Get(e.StartProcess(t.Context(), Caller{}, box.ID,
			&ProcessRequest{Cmd: []string{"head", "-c", "3000000", "/dev/zero"}}, nil))(t)
		for o := (&ProcessOutput{}); ; {
			if o = must.Get(e.ProcessOutput(t.Context(), Caller{}, box.ID, p.ID, 1<<40, maxWait))(t); !o.Running {
				break
			}
		}
	}
	sum, n := int64(0), 0
	for _, p := range must.Get(e.Processes(Caller{}, box.ID))(t) {
		sum, n = sum+p.Kept, n+1
	}
	if sum > maxOutput+1<<20 || n < 8 || n > 9 {
		t.Error(sum, n)
	}
}

// A box shows the shares of its sandbox, and policies that pin their sources decide the same about its commands.
func TestLivingShares(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	must.Do(t, os.Mkdir(dir+"/.git", 0o777))
	p := must.Get(policy.Parse([]byte(`{"open":true,"shares":["code:rw"],"require":["seccomp"]}`)))(t)
	e := must.Get(New(Options{Policies: []*policy.Policy{p}, Shares: []share.Share{{Name: "code", Dir: dir, Mode: "rw"}}}))(t)
	defer e.Close()
	box := livingBox(t, e, SandboxRequest{Mounts: []Mount{{Share: "code", Target: "/code"}}})
	r := e.Run(t.Context(), Caller{}, &Request{Sandbox: box.ID, Cmd: []string{"sh", "-c", "echo x >/code/f; cat /code/f"}}, nil)
	if r.Stdout != "x\n" {
		t.Errorf("%+v %+v", r, r.Error)
	}
	if text := must.Get(os.ReadFile(dir + "/f"))(t); string(text) != "x\n" {
		t.Errorf("%q", text)
	}
}
