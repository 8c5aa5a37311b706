package nsjail

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// enderOf returns an ender of a process that no jail is around, init's end of its report socket, and the process.
func enderOf(t *testing.T, name string, args ...string) (*ender, *os.File, *exec.Cmd) {
	t.Helper()
	child := exec.Command(name, args...)
	must.Do(t, child.Start())
	t.Cleanup(func() { _, _ = child.Process.Kill(), child.Wait() })
	report, far, err := launcher.ReportSocket()
	must.Do(t, err)
	inits := os.NewFile(uintptr(far), "init")
	fd := must.Get(unix.PidfdOpen(child.Process.Pid, unix.PIDFD_NONBLOCK))(t)
	p := &run.Process{Pid: child.Process.Pid, Pidfd: os.NewFile(uintptr(fd), "pidfd"), Report: report}
	t.Cleanup(func() { _, _ = p.Close(), inits.Close() })
	e := &ender{first: p, seat: seat{&run.Streams{}, p}}
	e.running.Store(true)
	return e, inits, child
}

// told returns what the keeper has told init so far.
func told(t *testing.T, inits *os.File) []byte {
	t.Helper()
	b := make([]byte, 8)
	must.Do(t, unix.SetNonblock(int(inits.Fd()), true))
	n, err := unix.Read(int(inits.Fd()), b)
	if err != unix.EAGAIN {
		must.Do(t, err)
	}
	return b[:max(0, n)]
}

// TestTheFirstCauseCounts: a jail ends for one cause, through init, and for none after its end.
func TestTheFirstCauseCounts(t *testing.T) {
	e, inits, _ := enderOf(t, "sleep", "100")
	e.endFor(endedOutput)
	e.endFor(endedWall)
	if why := cause(e.cause.Load()); why != endedOutput || e.warned.Load() {
		t.Errorf("cause %d, warned %v", why, e.warned.Load())
	}
	if got := told(t, inits); !bytes.Equal(got, []byte{0}) {
		t.Errorf("init was told %v, want that it ends", got)
	}
	late, inits, _ := enderOf(t, "sleep", "100")
	late.done.Store(true)
	if late.endFor(endedWall); late.cause.Load() != int32(notEnded) || len(told(t, inits)) > 0 {
		t.Errorf("cause %d after the end", late.cause.Load())
	}
}

// TestGraceIsForLimitsOnTime: the payload is asked first after a limit on time, or the end of the context.
func TestGraceIsForLimitsOnTime(t *testing.T) {
	for why, warned := range map[cause]bool{endedWall: true, endedIdle: true, endedCancel: true, endedCPU: false, endedOutput: false, endedDisk: false,
		endedMemory: false, endedNetlink: false} {
		e, inits, child := enderOf(t, "sleep", "100")
		e.grace = time.Hour
		e.endFor(why)
		if e.warned.Load() != warned || (len(told(t, inits)) == 0) != warned {
			t.Errorf("cause %d: warned %v", why, e.warned.Load())
		}
		if err := child.Wait(); warned && !strings.Contains(err.Error(), "terminated") {
			t.Errorf("cause %d: %v", why, err)
		} else if !warned && !strings.Contains(err.Error(), "killed") { // init has not answered
			t.Errorf("cause %d: %v", why, err)
		}
	}
}

// TestSignalsThatCannotArrive: an error tells whether the signal or the time was wrong.
func TestSignalsThatCannotArrive(t *testing.T) {
	e, _, child := enderOf(t, "true")
	if err := e.signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if err := e.signal(noSignal{}); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("no signal: %v", err)
	}
	_ = child.Wait() // its exit code depends on the time of the signal
	if err := e.signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("to a process that has ended: %v", err)
	}
	e.done.Store(true)
	var none Cmd
	for _, sig := range []os.Signal{unix.SIGTERM, unix.SIGKILL} {
		for what, err := range map[string]error{"signal": e.signal(sig), "stop": e.stop(sig)} {
			if !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%s with %v after the end: %v", what, sig, err)
			}
		}
		for what, err := range map[string]error{"Signal": none.Signal(sig), "Stop": none.Stop(sig)} {
			if !errors.Is(err, os.ErrInvalid) {
				t.Errorf("%s with %v before Start: %v", what, sig, err)
			}
		}
	}
	if why := cause(e.cause.Load()); why != notEnded {
		t.Errorf("a jail that had ended was ended for cause %d", why)
	}
	if none.Pid() != 0 || none.Plan() != nil || none.PlanDigest() != "" {
		t.Errorf("before Start: pid %d", none.Pid())
	}
}

type noSignal struct{}

func (noSignal) Signal()        {}
func (noSignal) String() string { return "no signal" }

// TestStopAsksOnce: SIGKILL ends a jail at once, and any other signal when its time is over; the cause is the caller.
func TestStopAsksOnce(t *testing.T) {
	e, inits, child := enderOf(t, "sleep", "100")
	e.grace = time.Millisecond
	must.Do(t, e.stop(syscall.SIGCONT))
	if !e.asked.Load() {
		t.Error("nobody was asked")
	}
	if err := child.Wait(); err == nil || e.cause.Load() != int32(endedCancel) || !bytes.Equal(told(t, inits), []byte{0}) {
		t.Errorf("%v, cause %d", err, e.cause.Load())
	}
	at, _, child := enderOf(t, "sleep", "100")
	must.Do(t, at.stop(unix.SIGKILL))
	if _ = child.Wait(); at.cause.Load() != int32(endedCancel) || at.asked.Load() {
		t.Errorf("cause %d, asked %v", at.cause.Load(), at.asked.Load())
	}
}
