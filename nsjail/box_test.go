package nsjail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

func newTestBox(t *testing.T, s spec.Spec) *Box {
	t.Helper()
	return newTestBoxOf(t, runnerWith(t, RunnerOptions{}), s)
}

func newTestBoxOf(t *testing.T, r *Runner, s spec.Spec) *Box {
	t.Helper()
	b := must.Get(r.NewBox(context.Background(), s))(t)
	t.Cleanup(func() { _, _ = b.Close() })
	return b
}

// inBox runs a script in a box, and returns what it has written to both streams.
func inBox(t *testing.T, b *Box, script string) (string, *Result) {
	t.Helper()
	out, r, err := b.Command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatal(script, err)
	}
	return strings.TrimSpace(string(out)), r
}

func wantInBox(t *testing.T, b *Box, script, want string) {
	t.Helper()
	if out, r := inBox(t, b, script); out != want || r.Status != StatusOK {
		t.Errorf("%s: %q, %s, want %q", script, out, r.Status, want)
	}
}

// A box is made as the other jails of its Runner are: from the host's root, in the prepared one, or with mounts that come
// later. Jails and boxes of a Spec do not take each other's places in pools.
func TestBoxKeepsItsState(t *testing.T) {
	for name, o := range map[string]RunnerOptions{"cold": {Cold: true}, "prepared": {}, "pooled": {Pool: 4, Reuse: true}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, o)
			if (r.tree == nil) != o.Cold {
				t.Error("the prepared tree:", r.roots.why)
			}
			for range 2 {
				boxKeepsItsState(t, newTestBoxOf(t, r, spec.Spec{}))
				r := must.Get(r.Command("true").Run())(t)
				if r.Status != StatusOK {
					t.Error("a jail beside it:", r.Status)
				}
			}
			b := newTestBoxOf(t, r, spec.Spec{Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/more"}}})
			wantInBox(t, b, "echo kept >/more/f", "")
			wantInBox(t, b, "cat /more/f", "kept")
		})
	}
}

func boxKeepsItsState(t *testing.T, b *Box) {
	t.Helper()
	wantInBox(t, b, "echo kept >/work/f; cd /tmp; mkfifo p; umask 0", "")
	wantInBox(t, b, "pwd; umask; cat /work/f; test -p /tmp/p && echo fifo; id -u", "/work\n0022\nkept\nfifo\n1000")
	if _, r := inBox(t, b, "exit 3"); r.Status != StatusFailed || r.ExitCode != 3 || r.Stays != nil {
		t.Error(r.Status, r.ExitCode, r.Stays)
	}
	if _, r := inBox(t, b, "kill -9 $$"); r.Status != StatusSignal || r.Signal != "SIGKILL" {
		t.Error(r.Status, r.Signal)
	}
	if r := must.Get(b.Close())(t); r.Status != StatusOK || r.Usage.User+r.Usage.System == 0 {
		t.Error(r.Status, r.Usage)
	}
	if _, err := b.Command("true").Run(); !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, os.ErrClosed) {
		t.Error("a closed box:", err)
	}
}

// What a command leaves behind goes on, and is named: by its session, or as one that has left that.
func TestBoxProcessesStay(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	out, r := inBox(t, b, "sleep 1000 >/dev/null & echo $!; exec true")
	if r.Stays == nil || r.Stays.Count != 1 || len(r.Stays.Processes) != 1 || r.Status != StatusOK {
		t.Error("in the session:", r.Stays, r.Status)
	}
	wantInBox(t, b, "kill -0 "+out+" && echo alive", "alive")
	if _, r = inBox(t, b, "setsid sh -c 'touch /tmp/up; exec sleep 1001' & until [ -e /tmp/up ]; do sleep .01; done"); r.Stays == nil ||
		r.Stays.Count != 1 || r.Stays.Processes != nil {
		t.Error("out of the session:", r.Stays)
	}
	wantInBox(t, b, "kill "+out+" && pkill -f '[s]leep 1001' && while pgrep sleep >/dev/null; do sleep .01; done", "")
	// what it still writes is read: it must not end for SIGPIPE
	wantInBox(t, b, "(until [ -e /tmp/go ]; do sleep .01; done; echo x; sleep .01; echo y; touch /tmp/written) & exit 0", "")
	wantInBox(t, b, "touch /tmp/go; until [ -e /tmp/written ]; do sleep .01; done; echo ok", "ok")
}

func TestBoxKillsASession(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	start := func(script string) *Cmd {
		c := b.Command("/bin/sh", "-c", script)
		out, w := pipeOf(t)
		c.Stdout = w
		must.Do(t, c.Start())
		must.Get(io.ReadFull(out, make([]byte, 3)))(t)
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return c
	}
	const script = "trap '' TERM INT; (setsid sh -c 'touch /tmp/up; exec sleep 3003' &); sleep 3001 & (sleep 3002 &); " +
		"until [ -e /tmp/up ]; do sleep .01; done; rm /tmp/up; echo up; wait"
	for name, kill := range map[string]func(*Cmd) error{
		"signal": func(c *Cmd) error { return c.Signal(unix.SIGKILL) },
		"stop":   func(c *Cmd) error { c.running.Load().ender.grace = time.Millisecond; return c.Stop(unix.SIGTERM) },
	} {
		c := start(script)
		if n := len(b.Processes()); n != 1 {
			t.Error(name, n, "processes")
		}
		must.Do(t, kill(c))
		r := must.Get(c.Wait())(t)
		if want := map[string]Status{"signal": StatusSignal, "stop": StatusCancelled}[name]; r.Status != want {
			t.Error(name, r.Status, r.Signal)
		}
		if r.Stays == nil || r.Stays.Count != 1 || r.Stays.Processes != nil {
			t.Error(name, "stays:", r.Stays)
		}
		wantInBox(t, b, "pgrep -f '[s]leep 300[12]'; pkill -9 -f '[s]leep 3003'; while pgrep sleep >/dev/null; do sleep .01; done", "")
	}
	c := b.Command("/bin/sh", "-c", "sleep 3001 & sleep 3002")
	c.Spec.Limits.Wall = spec.Duration(500 * time.Millisecond)
	if r := must.Get(c.Run())(t); r.Status != StatusTimeout || !slices.Contains(r.LimitsHit, "wall") {
		t.Error(r.Status, r.LimitsHit)
	}
	wantInBox(t, b, "pgrep sleep || echo none", "none")
	c = start("trap 'echo got; exit 7' USR1; echo up; while :; do sleep .01; done")
	must.Do(t, c.Signal(unix.SIGUSR1))
	if r := must.Get(c.Wait())(t); r.ExitCode != 7 {
		t.Error(r.ExitCode, r.Status)
	}
}

func TestBoxStreams(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	var out, errs bytes.Buffer
	c := b.Command("/bin/sh", "-c", "cat; echo err >&2; cat /dev/stdin; ls -l /proc/self/fd | grep -c '[0-9] -> '; pwd; echo $A")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("in\n"), &out, &errs
	c.Spec.Workdir, c.Spec.Env = "/tmp", []string{"A=b"}
	must.Get(c.Run())(t)
	if out.String() != "in\n4\n/tmp\nb\n" || errs.String() != "err\n" {
		t.Errorf("%q %q", out.String(), errs.String())
	}
	c = b.Command("/bin/sh", "-c", "tty; stty size; test -t 0 && echo terminal; echo $TERM")
	out.Reset()
	c.Stdout, c.Spec.TTY = &out, true
	c.Terminal = func(m *os.File) {
		time.Sleep(20 * time.Millisecond) // the payload does not start before the callee has returned
		must.Do(t, unix.IoctlSetWinsize(int(m.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
	}
	must.Get(c.Run())(t)
	if text := out.String(); !strings.HasPrefix(text, "/dev/pts/0\r\n33 77\r\nterminal\r\n") {
		t.Errorf("%q", text)
	}
}

func TestBoxErrors(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	_, err := b.Command("/no/such").Run()
	if ee := new(ExecError); !errors.As(err, &ee) {
		t.Errorf("%T %v", err, err)
	}
	c := b.Command("true")
	c.Spec.Workdir = "/no/such"
	if _, err = c.Run(); err == nil || !strings.Contains(err.Error(), "workdir") {
		t.Error(err)
	}
	c = b.Command("true")
	c.Spec.Limits.Memory = 1 << 20
	if _, err = c.Run(); err == nil || !strings.Contains(err.Error(), "limits: it is the box's") {
		t.Error(err)
	}
	wantInBox(t, b, "echo ok", "ok")
	r := runnerWith(t, RunnerOptions{})
	for field, s := range map[string]spec.Spec{"args": {Args: []string{"true"}}, "no_init": {NoInit: true}, "tier": {Tier: spec.TierProcess},
		"tty": {TTY: true}, "seccomp": {Seccomp: "unconfined"}} {
		if _, err := r.NewBox(context.Background(), s); err == nil || !strings.Contains(err.Error(), field+": ") {
			t.Error(field, err)
		}
	}
}

func TestBoxDial(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	c := b.Command("python3", "-c", `
import socket, sys, threading
u = socket.socket(socket.AF_UNIX); u.bind("/tmp/s"); u.listen()
s = socket.create_server(("127.0.0.1", 8000))
v = socket.create_server(("::1", 8001), family=socket.AF_INET6)
def serve(l):
    while True:
        p, _ = l.accept(); p.sendall(p.recv(100).upper()); p.close()
for l in (u, s, v): threading.Thread(target=serve, args=(l,)).start()
print("up", flush=True)`)
	out, w := pipeOf(t)
	c.Stdout = w
	must.Do(t, c.Start())
	must.Get(io.ReadFull(out, make([]byte, 3)))(t)
	for _, to := range [][2]string{{"tcp", ":8000"}, {"tcp", "127.0.0.1:8000"}, {"tcp", "localhost:8001"}, {"unix", "/tmp/s"}} {
		conn := must.Get(b.Dial(t.Context(), to[0], to[1]))(t)
		must.Get(conn.Write([]byte("hello")))(t)
		if text := must.Get(io.ReadAll(conn))(t); string(text) != "HELLO" {
			t.Errorf("%v %q", to, text)
		}
		conn.Close()
	}
	for _, to := range [][2]string{{"tcp", ":9"}, {"unix", "/tmp/none"}} {
		_, err := b.Dial(t.Context(), to[0], to[1])
		if op := new(net.OpError); err == nil || to[0] == "tcp" && !errors.As(err, &op) {
			t.Error(to, err)
		}
	}
	for _, to := range [][2]string{{"tcp", "192.0.2.1:80"}, {"tcp", ":0"}, {"udp", ":1"}, {"unix", "tmp/s"}} {
		if _, err := b.Dial(t.Context(), to[0], to[1]); err == nil || !strings.Contains(err.Error(), "address: ") {
			t.Error(to, err)
		}
	}
	must.Do(t, unix.Kill(b.Pid(), unix.SIGSTOP)) // as an administrator may
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := b.Dial(ctx, "tcp", ":8000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("init does not answer:", err)
	}
	must.Do(t, unix.Kill(b.Pid(), unix.SIGCONT))
	wantInBox(t, b, "echo ok", "ok")
}

func TestBoxFreezes(t *testing.T) {
	for name, limits := range map[string]spec.Limits{"stop": {}, "group": {Memory: 64 << 20}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, RunnerOptions{Cold: true})
			b, err := r.NewBox(t.Context(), spec.Spec{Limits: limits})
			if name == "group" && err != nil && strings.Contains(err.Error(), "cgroup") {
				t.Skip("no control group can be made here: " + err.Error())
			}
			must.Do(t, err)
			defer b.Close()
			c := b.Command("/bin/sh", "-c", "while :; do echo x; sleep .001; done")
			out, w := pipeOf(t)
			c.Stdout = w
			must.Do(t, c.Start())
			one := make([]byte, 2)
			must.Get(io.ReadFull(out, one))(t)
			must.Do(t, b.Freeze())
			if _, err := b.Command("true").Run(); err == nil || !strings.Contains(err.Error(), "frozen") {
				t.Error("a command in a frozen box:", err)
			}
			must.Do(t, b.Thaw())
			must.Get(io.ReadFull(out, make([]byte, 1000)))(t)
			must.Do(t, b.Freeze())
			end := must.Get(b.Close())(t)
			if end.Status != StatusOK {
				t.Error("closed while frozen:", end.Status)
			}
			w.Close()
			if r, err := c.Wait(); err != nil || r.Status != StatusCancelled {
				t.Error(r, err)
			}
		})
	}
}

// The time for which a box is frozen counts neither for the wall clock, its own and a process's, nor for silence.
func TestBoxClocksStand(t *testing.T) {
	const limit = 200 * time.Millisecond
	for name, limits := range map[string]spec.Limits{"wall": {Wall: spec.Duration(limit)}, "idle": {Idle: spec.Duration(limit)}} {
		b := newTestBox(t, spec.Spec{Limits: spec.Limits{Wall: spec.Duration(10 * limit)}})
		c := b.Command("sleep", "1000")
		c.Spec.Limits.Wall, c.Spec.Limits.Idle = limits.Wall, limits.Idle
		must.Do(t, c.Start())
		begun := time.Now()
		must.Do(t, b.Freeze())
		must.Do(t, b.Freeze()) // once more is no other time
		time.Sleep(2 * limit)
		if n := len(b.Processes()); n != 1 {
			t.Error(name, "it has ended while it was frozen")
		}
		must.Do(t, b.Thaw())
		r := must.Get(c.Wait())(t)
		if took := time.Since(begun); r.Status != StatusTimeout || took < 5*limit/2 || !slices.Contains(r.LimitsHit, name) {
			t.Error(name, r.Status, r.LimitsHit, took)
		}
	}
	b := newTestBox(t, spec.Spec{Limits: spec.Limits{Wall: spec.Duration(4 * limit)}})
	must.Do(t, b.Freeze())
	time.Sleep(5 * limit)
	must.Do(t, b.Thaw())
	wantInBox(t, b, "echo alive", "alive")
	if r := must.Get(b.Wait())(t); r.Status != StatusTimeout {
		t.Error(r.Status)
	}
}

func TestBoxEnds(t *testing.T) {
	t.Run("wall", func(t *testing.T) {
		b := newTestBox(t, spec.Spec{Limits: spec.Limits{Wall: spec.Duration(100 * time.Millisecond)}})
		c := b.Command("sleep", "1000")
		if r := must.Get(c.Run())(t); r.Status != StatusTimeout {
			t.Error(r.Status)
		}
		if r := must.Get(b.Close())(t); r.Status != StatusTimeout {
			t.Error(r.Status)
		}
	})
	t.Run("context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := runnerWith(t, RunnerOptions{Cold: true})
		b := must.Get(r.NewBox(ctx, spec.Spec{}))(t)
		c := b.Command("sleep", "1000")
		must.Do(t, c.Start())
		cancel()
		if r := must.Get(c.Wait())(t); r.Status != StatusCancelled {
			t.Error(r.Status)
		}
		if r := must.Get(b.Close())(t); r.Status != StatusCancelled {
			t.Error(r.Status)
		}
	})
	t.Run("its runner", func(t *testing.T) {
		r := runnerWith(t, RunnerOptions{Cold: true})
		b := must.Get(r.NewBox(t.Context(), spec.Spec{}))(t)
		c := b.Command("sleep", "1000")
		must.Do(t, c.Start())
		go r.Close()
		must.Get(c.Wait())(t)
		must.Get(b.Close())(t)
	})
	t.Run("memory", func(t *testing.T) {
		r := runnerWith(t, RunnerOptions{Cold: true})
		b, err := r.NewBox(t.Context(), spec.Spec{Limits: spec.Limits{Memory: 32 << 20}})
		if err != nil && strings.Contains(err.Error(), "cgroup") {
			t.Skip("no control group can be made here: " + err.Error())
		}
		must.Do(t, err)
		_, run := inBox(t, b, "head -c 200m /dev/zero | tail")
		if end := must.Get(b.Close())(t); end.Status != StatusMemory || run.Status != StatusMemory {
			t.Error(end.Status, run.Status, run.Signal)
		}
	})
}

func TestBoxCrowd(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for range 5 {
				out, r, err := b.Command("/bin/sh", "-c", "echo $0", string(rune('a'+i%26))).Output()
				if err != nil || string(out) != string(rune('a'+i%26))+"\n" || r.Status != StatusOK {
					t.Error(string(out), r, err)
				}
			}
		})
	}
	wg.Wait()
	if left := b.Processes(); len(left) > 0 {
		t.Error(left)
	}
}

// An idle box costs no goroutine.
func TestBoxIdle(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Cold: true})
	must.Get(must.Get(r.NewBox(t.Context(), spec.Spec{}))(t).Close())(t)
	before := runtime.NumGoroutine()
	for range 10 {
		b := must.Get(r.NewBox(t.Context(), spec.Spec{}))(t)
		defer b.Close()
		wantInBox(t, b, "echo ok", "ok")
	}
	until(t, "no goroutine more", func() bool { return runtime.NumGoroutine() <= before })
}

func BenchmarkBox(b *testing.B) {
	r := must.Get(NewRunnerWith(RunnerOptions{Cold: true}))(b)
	defer r.Close()
	box := must.Get(r.NewBox(b.Context(), spec.Spec{}))(b)
	defer box.Close()
	for b.Loop() {
		if r, err := box.Command("/bin/true").Run(); err != nil || r.Status != StatusOK {
			b.Fatal(r, err)
		}
	}
}

func pipeOf(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
