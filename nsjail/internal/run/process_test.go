package run

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// reporting returns a process whose report socket is a pair, and the jail's end of it.
func reporting(t *testing.T) (*Process, int) {
	t.Helper()
	sv := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(t)
	p := &Process{Report: os.NewFile(uintptr(sv[0]), "report")}
	t.Cleanup(func() { p.Close() })
	return p, sv[1]
}

// child returns a process that is a child of the test's.
func child(t *testing.T, args ...string) (*Process, *exec.Cmd) {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	must.Do(t, c.Start())
	fd := must.Get(unix.PidfdOpen(c.Process.Pid, unix.PIDFD_NONBLOCK))(t)
	p := &Process{Pid: c.Process.Pid, Pidfd: os.NewFile(uintptr(fd), "pidfd")}
	t.Cleanup(func() { p.Close() })
	return p, c
}

// What comes from the jail is a report, descriptors with their tag, or the end.
func TestReceive(t *testing.T) {
	p, jail := reporting(t)
	rep := make([]byte, launcher.ReportSize)
	binary.NativeEndian.PutUint32(rep, launcher.ReportStop)
	must.Get(unix.Write(jail, rep))(t)
	for range 2 { // Next leaves it there
		if next := p.Next(); next != launcher.ReportStop {
			t.Errorf("next is %d", next)
		}
	}
	if rep, fds, err := p.Receive(); err != nil || rep.Type != launcher.ReportStop || len(fds) > 0 {
		t.Errorf("%+v, %v, %v", rep, fds, err)
	}
	if next := p.Next(); next != 0 {
		t.Errorf("nothing is there, and next is %d", next)
	}
	must.Do(t, unix.Sendmsg(jail, []byte{'U'}, unix.UnixRights(jail), nil, 0))
	rep1, fds, err := p.Receive()
	if err != nil || rep1.A != 'U' || len(fds) != 1 {
		t.Fatalf("%+v, %v, %v", rep1, fds, err)
	}
	unix.Close(fds[0])
	must.Get(unix.Write(jail, []byte("short")))(t)
	if _, _, err := p.Receive(); err == nil {
		t.Error("five bytes are a report")
	}
	must.Do(t, p.Tell(7))
	var b [2]byte
	if n, err := unix.Read(jail, b[:]); n != 1 || b[0] != 7 {
		t.Errorf("told %v, %v", b[:n], err)
	}
	must.Get(unix.Write(jail, []byte("ab")))(t)
	if next := p.Next(); next != 0 {
		t.Errorf("two bytes are of type %d", next)
	}
	_, _, _ = p.Receive()
	unix.Close(jail)
	if _, _, err := p.Receive(); !errors.Is(err, ErrNoReport) {
		t.Errorf("at the end: %v", err)
	}
	if p.Tell(0) == nil {
		t.Error("nobody can be told anything")
	}
}

// The kernel reports once that a jail has ended with something unread, before the reports of that jail.
func TestReceiveAfterReset(t *testing.T) {
	p, jail := reporting(t)
	must.Get(unix.Write(jail, make([]byte, launcher.ReportSize)))(t)
	must.Do(t, p.Tell(0))
	unix.Close(jail)
	if _, _, err := p.Receive(); err != nil {
		t.Error(err)
	}
	if _, _, err := p.Receive(); !errors.Is(err, ErrNoReport) {
		t.Errorf("at the end: %v", err)
	}
}

// The counters are one message of a known size.
func TestDenied(t *testing.T) {
	p, jail := reporting(t)
	counts := make([]byte, launcher.DeniedSize)
	binary.NativeEndian.PutUint64(counts[8*3:], 5)
	must.Get(unix.Write(jail, counts))(t)
	if got := p.Denied(); len(got) != launcher.DeniedSize/8 || got[3] != 5 {
		t.Errorf("%d counters", len(got))
	}
	must.Get(unix.Write(jail, counts[:8]))(t)
	if got := p.Denied(); got != nil {
		t.Errorf("one counter: %v", got)
	}
	unix.Close(jail)
	if got := p.Denied(); got != nil {
		t.Errorf("init was killed: %v", got)
	}
}

// A process is waited for, and then no signal reaches it.
func TestSignalAndWait(t *testing.T) {
	p, _ := child(t, "sleep", "100")
	must.Do(t, p.Signal(0))
	must.Do(t, p.Signal(unix.SIGTERM))
	status, _, err := p.Wait(EndWait)
	if err != nil || status.Signal() != unix.SIGTERM {
		t.Errorf("%v, %v", status, err)
	}
	if err := p.Signal(0); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end: %v", err)
	}
	p.Pidfd.Close()
	if err := p.Signal(0); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("of a closed pidfd: %v", err)
	}
	must.Do(t, (&Process{}).Close())
}

// The wait for a jail with init is bounded; without init the wait is not, until somebody hurries.
func TestWaitIsBounded(t *testing.T) {
	p, c := child(t, "sleep", "100")
	if _, _, err := p.Wait(time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	must.Do(t, p.Pidfd.SetReadDeadline(time.Time{}))
	p.Alone = true
	time.AfterFunc(20*time.Millisecond, func() { _ = c.Process.Kill() })
	if status, _, err := p.Wait(time.Millisecond); err != nil || status.Signal() != unix.SIGKILL {
		t.Errorf("%v, %v", status, err)
	}
}

// Await ends with a report, or, without init, with the process.
func TestAwait(t *testing.T) {
	p, jail := reporting(t)
	time.AfterFunc(time.Millisecond, func() { _, _ = unix.Write(jail, []byte{1}) })
	p.Await()
	if n, err := unix.Read(int(p.Report.Fd()), make([]byte, 2)); n != 1 {
		t.Errorf("%d, %v", n, err)
	}
	unix.Close(jail)
	alone, c := child(t, "sleep", "100")
	alone.Alone = true
	time.AfterFunc(time.Millisecond, func() { _ = c.Process.Kill() })
	alone.Await()
	if status, _, err := alone.Wait(0); err != nil || !status.Signaled() {
		t.Errorf("%v, %v", status, err)
	}
}

// A signal that a shell ignores or handles does not end it.
func TestByDefault(t *testing.T) {
	for name, c := range map[string]struct {
		trap string
		want bool
	}{"default": {"", true}, "ignored": {`trap "" USR1; `, false}, "handled": {`trap : USR1; `, false}, "another": {`trap "" USR2; `, true}} {
		r, w, err := os.Pipe()
		must.Do(t, err)
		cmd := exec.Command("sh", "-c", c.trap+"echo; read x")
		cmd.Stdout = w
		in := must.Get(cmd.StdinPipe())(t)
		must.Do(t, cmd.Start())
		w.Close()
		_, _ = r.Read(make([]byte, 1))
		if got := ByDefault(cmd.Process.Pid, unix.SIGUSR1); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		in.Close()
		_ = cmd.Wait() // read has failed
		r.Close()
	}
	if ByDefault(1<<30, unix.SIGUSR1) {
		t.Error("no process has a default")
	}
}

// A process of a box gets its signals from the box's init, which has no SIGKILL of one: it ends the session.
func TestSignalInABox(t *testing.T) {
	p, init := reporting(t)
	p.InBox = true
	for signal, want := range map[unix.Signal]byte{unix.SIGTERM: byte(unix.SIGTERM), unix.SIGKILL: 0} {
		must.Do(t, p.Signal(signal))
		var b [2]byte
		if n, err := unix.Read(init, b[:]); n != 1 || b[0] != want {
			t.Errorf("%s: init is told %v, %v", signal, b[:max(n, 0)], err)
		}
	}
	if status, _, err := p.Wait(time.Hour); status != 0 || err != nil { // its report is its end
		t.Errorf("%v, %v", status, err)
	}
	unix.Close(init)
	if err := p.Signal(unix.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end of the box: %v", err)
	}
}

// A process that did not end in time is reaped when it ends, and its pidfd closed.
func TestReapLater(t *testing.T) {
	p, c := child(t, "sleep", "100")
	if _, _, err := p.Wait(time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	p.ReapLater()
	must.Do(t, c.Process.Kill())
	waitClosed(t, p.Pidfd)
	if _, err := unix.Wait4(p.Pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("it is not reaped: %v", err)
	}
	p.Pidfd = nil
}
