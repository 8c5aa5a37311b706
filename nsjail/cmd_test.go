package nsjail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// shell is a jail that runs a script with sh.
func shell(script string) *Cmd { return Command("/bin/sh", "-c", script) }

// mustRun runs a jail and returns its output; it fails the test if the jail could not be made.
func mustRun(t *testing.T, c *Cmd) (string, *Result) {
	t.Helper()
	out, r, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v", c.Spec.Args, err)
	}
	return string(out), r
}

// wantOutput runs a jail and requires exit code 0 and that output.
func wantOutput(t *testing.T, c *Cmd, want string) {
	t.Helper()
	out, r := mustRun(t, c)
	if r.Status != StatusOK || strings.TrimSpace(out) != want {
		t.Errorf("%q: %s %d, output %q, want %q", c.Spec.Args, r.Status, r.ExitCode, out, want)
	}
}

// startError starts a jail that cannot be made and returns the Error.
func startError(t *testing.T, c *Cmd) *spec.Error {
	t.Helper()
	r, err := c.Run()
	var e *spec.Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: result %+v, error %v, want a *Error", c.Spec.Args, r, err)
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the error is not one safe line: %q", err)
	}
	return e
}

func TestExitCodes(t *testing.T) {
	r := must.Get(NewRunner())(t)
	defer r.Close()
	step := 1
	if testing.Short() {
		step = 51
	}
	for code := 0; code <= 255; code += step {
		res := must.Get(r.Command("/bin/sh", "-c", "exit "+strconv.Itoa(code)).Run())(t)
		want := StatusFailed
		if code == 0 {
			want = StatusOK
		}
		if res.ExitCode != code || res.Status != want || res.Signal != "" {
			t.Errorf("exit %d: %s %d %q", code, res.Status, res.ExitCode, res.Signal)
		}
	}
}

func TestSignalsOfPayload(t *testing.T) {
	for _, c := range []struct{ script, signal string }{
		{"kill -SEGV $$", "SIGSEGV"}, {"kill -KILL $$", "SIGKILL"}, {"kill -TERM $$", "SIGTERM"}, {"kill -ABRT $$", "SIGABRT"},
		{"kill -INT $$", "SIGINT"}, {"kill -PIPE $$", "SIGPIPE"}, {"kill -HUP $$", "SIGHUP"}, {"kill -35 $$", "SIG35"},
	} {
		_, r := mustRun(t, shell(c.script))
		if r.Status != StatusSignal || r.Signal != c.signal || r.ExitCode != -1 {
			t.Errorf("%s: %s %q %d, want %s", c.script, r.Status, r.Signal, r.ExitCode, c.signal)
		}
	}
}

func TestSignalForwarding(t *testing.T) {
	for _, noInit := range []bool{false, true} {
		pr, pw, err := os.Pipe()
		must.Do(t, err)
		c := shell(`trap 'echo got; exit 9' USR1; echo ready; while :; do sleep 0.02; done`)
		c.Spec.NoInit = noInit
		c.Stdout = pw
		must.Do(t, c.Start())
		pw.Close()
		line := make([]byte, 6)
		must.Get(io.ReadFull(pr, line))(t)
		if err := c.Signal(syscall.SIGUSR1); err != nil {
			t.Error(err)
		}
		r, err := c.Wait()
		if err != nil || r.ExitCode != 9 {
			t.Errorf("no init %v: %+v, %v", noInit, r, err)
		}
		if err := c.Signal(syscall.SIGUSR1); !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, os.ErrClosed) {
			t.Errorf("a signal after the end: %v", err)
		}
		pr.Close()
	}
}

func TestSignalKillEndsEverything(t *testing.T) {
	c := shell("setsid sleep 1000 & sleep 1000")
	must.Do(t, c.Start())
	must.Do(t, c.Signal(syscall.SIGKILL))
	r, err := c.Wait()
	if err != nil || r.Status != StatusSignal || r.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestUsedOnce(t *testing.T) {
	c := shell("true")
	if _, err := c.Wait(); err == nil {
		t.Error("Wait before Start succeeds")
	}
	if err := c.Signal(syscall.SIGTERM); err == nil {
		t.Error("Signal before Start succeeds")
	}
	must.Do(t, c.Start())
	if err := c.Start(); err == nil {
		t.Error("the second Start succeeds")
	}
	if r, err := c.Wait(); err != nil || r.Status != StatusOK {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Wait(); err == nil {
		t.Error("the second Wait succeeds")
	}
	c = shell("true")
	c.Stdout = new(bytes.Buffer)
	if _, _, err := c.Output(); err == nil {
		t.Error("Output with Stdout set succeeds")
	}
}

func TestContext(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := CommandContext(gone, "true").Run(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before Start: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := CommandContext(ctx, "/bin/sh", "-c", "trap '' TERM INT; (setsid sleep 1000 &) ; sleep 1000")
	must.Do(t, c.Start())
	cancel()
	r, err := c.Wait()
	if err != nil || r.Status != StatusCancelled || r.ExitCode != -1 {
		t.Errorf("cancelled while running: %+v, %v", r, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	c = CommandContext(ctx, "true")
	r, err = c.Run()
	cancel()
	if err != nil || r.Status != StatusOK {
		t.Errorf("cancelled after the end: %+v, %v", r, err)
	}
}

// TestCancelDuringStart ends the context at moments of the set-up: the answer is an error or a Result, never a hang.
func TestCancelDuringStart(t *testing.T) {
	for i := range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*250*time.Microsecond)
		r, err := CommandContext(ctx, "sleep", "1000").Run()
		cancel()
		if err == nil && r.Status != StatusCancelled || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %d us: %+v, %v", i*250, r, err)
		}
	}
}

func TestTimeoutKillsTheTree(t *testing.T) {
	for _, noInit := range []bool{false, true} {
		c := shell("trap '' TERM; (setsid sh -c 'sleep 1000 & sleep 1000' &); nohup sleep 1000 >/dev/null 2>&1 & sleep 1000 & wait")
		c.Spec.NoInit = noInit
		c.Spec.Limits.Wall = spec.Duration(150 * time.Millisecond)
		begin := time.Now()
		_, r := mustRun(t, c) // returns only when nobody holds the output any more
		if r.Status != StatusTimeout || !r.TimedOut || r.ExitCode != -1 {
			t.Errorf("no init %v: %+v", noInit, r)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("no init %v: it took %s", noInit, d)
		}
	}
}

func TestLeftoversEndWithThePayload(t *testing.T) {
	begin := time.Now()
	wantOutput(t, shell("(setsid sleep 1000 &); sleep 1000 & echo done"), "done")
	if time.Since(begin) > 20*time.Second {
		t.Error("the background processes were waited for")
	}
}

func TestCPUTime(t *testing.T) {
	t.Parallel()
	c := shell("while :; do :; done")
	c.Spec.Limits.CPUTime = spec.Duration(time.Second)
	_, r := mustRun(t, c)
	want := "SIGKILL" // the keeper's, by the group's count of all processes
	if strings.HasPrefix(r.Enforced["cpu_time"].String(), "RLIMIT_CPU") {
		want = "SIGXCPU"
	}
	if r.Status != StatusCPU || r.Signal != want {
		t.Errorf("%+v", r)
	}
	if u := time.Duration(r.Usage.User + r.Usage.System); u < 750*time.Millisecond { // see Result.spent
		t.Errorf("%s of processor time are counted", u)
	}
}

// profile writes a seccomp profile and returns its path.
func profile(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "profile.json")
	must.Do(t, os.WriteFile(p, []byte(text), 0o644))
	return p
}

func TestViolation(t *testing.T) {
	for _, action := range []string{"SCMP_ACT_KILL_PROCESS", "SCMP_ACT_KILL"} {
		c := Command("mkdir", "/tmp/d")
		c.Spec.Seccomp = profile(t, fmt.Sprintf(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":%q}]}`, action))
		_, r := mustRun(t, c)
		if r.Status != StatusViolation || r.Signal != "SIGSYS" {
			t.Errorf("%s: %+v", action, r)
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"noshebang": "echo no\n", "badinterp": "#!/nonexistent/interpreter\n", "noexec": "#!/bin/sh\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	must.Do(t, os.Chmod(filepath.Join(dir, "noexec"), 0o644))
	for _, c := range []struct {
		command string
		kind    error
	}{
		{"no-such-command-here", ErrNotFound}, {"/no/such/path", ErrNotFound}, {"/input/badinterp", ErrNotFound}, {"/bin/sh/x", ErrNotFound},
		{"/input/noshebang", ErrNotExecutable}, {"/input/noexec", ErrNotExecutable}, {"/usr", ErrNotExecutable}, {"/etc/passwd", ErrNotExecutable},
	} {
		cmd := Command(c.command)
		cmd.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}
		_, err := cmd.Run()
		var e *spec.Error
		if !errors.Is(err, c.kind) || !errors.As(err, &e) || e.Fault != spec.FaultCaller || e.Remedy == "" {
			t.Errorf("%s: %v, want %v with a remedy", c.command, err, c.kind)
		}
	}
}
