package nsjail

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// TestNotDead has a tracer on the host hold a payload in its exit (PTRACE_O_TRACEEXIT), as processes in a system call
// on a dead server are held: SIGKILL does not end it. The keeper stops waiting after ten seconds, names it, and
// releases the rest.
func TestNotDead(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel() // with all others: it mostly waits
	pool := runnerWith(t, RunnerOptions{Pool: 2, Reuse: true})
	for name, prepare := range map[string]func(*Cmd){
		"own launcher": func(*Cmd) {},
		"Runner":       func(c *Cmd) { c.runner, c.ownsRunner = pool, false },
		"no init":      func(c *Cmd) { c.Spec.NoInit = true },
		"ends by itself": func(c *Cmd) { // and init cannot reap what it leaves
			c.Spec.Args[2] = "sleep 1000 & echo up; read x"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := CommandContext(ctx, "/bin/sh", "-c", "echo up; sleep 1000")
			prepare(c)
			out, in := &firstLine{line: make(chan string, 1)}, newGate()
			c.Stdout, c.Stdin = out, in
			must.Do(t, c.Start())
			<-out.line
			held := sys.Descendants(c.Pid())
			if len(held) == 0 || c.Spec.NoInit {
				held = append(held, c.Pid())
			}
			victim := held[len(held)-1]
			fd, err := unix.PidfdOpen(victim, 0)
			must.Do(t, err)
			defer unix.Close(fd)
			release := holdInExit(t, victim)
			if in.open(); !strings.Contains(c.Spec.Args[2], "read") {
				cancel()
			}
			from := time.Now()
			res, err := c.Wait()
			if stuckBy(err) == nil || !strings.Contains(err.Error(), strconv.Itoa(victim)) || res.Status != StatusError || res.ExitCode != -1 {
				t.Errorf("%v, %+v, want an error that names process %d", err, res, victim)
			}
			if d := time.Since(from); d > 3*run.EndWait {
				t.Errorf("the end took %s", d)
			}
			release()
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000); n != 1 {
				t.Errorf("process %d has not ended after its release: %v", victim, err)
			}
		})
	}
}

// firstLine tells of the first write.
type firstLine struct{ line chan string }

func (f *firstLine) Write(b []byte) (int, error) {
	select {
	case f.line <- string(b):
	default:
	}
	return len(b), nil
}

// gate is a stream that ends when it is opened.
type gate chan struct{}

func newGate() gate                     { return make(gate) }
func (g gate) open()                    { close(g) }
func (g gate) Read([]byte) (int, error) { <-g; return 0, errors.New("the end") }

// holdInExit traces a process from a thread of its own, so that its end waits for release.
func holdInExit(t *testing.T, pid int) (release func()) {
	t.Helper()
	held, let, gone := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the tracer is a thread
		defer runtime.UnlockOSThread()
		defer close(gone)
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
		if errno != 0 {
			held <- errno
			return
		}
		held <- nil
		<-let
		if err := unix.PtraceDetach(pid); err != nil {
			t.Error(err)
		}
	}()
	if err := <-held; err != nil {
		t.Skipf("cannot trace the payload: %v", err)
	}
	return func() { close(let); <-gone }
}

// TestTracedByInit: a payload that makes init its tracer is stopped by its own signal, and let go.
func TestTracedByInit(t *testing.T) {
	t.Parallel()
	const script = `
import ctypes, os, signal, sys
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
os.kill(os.getpid(), signal.SIGUSR1)
if sys.argv[-1] == "exec": os.execlp("true", "true")  # it stops with SIGTRAP, which would end it
sys.exit(40 + len(seen))`
	for want, mode := range map[int]string{41: "exit", 0: "exec"} {
		c := python(t, script)
		c.Spec.Args = append(c.Spec.Args, mode)
		res, err := c.Run()
		if err != nil || res.ExitCode != want {
			t.Errorf("%v, %+v, want exit code %d", err, res, want)
		}
	}
}
