package nsjail

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// What was killed with its session does not stay, also as long as init has not waited for it.
func TestKilledDoNotStay(t *testing.T) {
	start := func() *exec.Cmd {
		c := exec.Command("sleep", "1000")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must.Do(t, c.Start())
		return c
	}
	killed := start()
	must.Do(t, killed.Process.Kill())
	must.Do(t, unix.Waitid(unix.P_PID, killed.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	running := start()
	w := within{init: os.Getpid()}
	if s := w.stays(sessionInBox(killed.Process.Pid)); s.Processes != nil {
		t.Error("killed:", s)
	}
	if s := w.stays(sessionInBox(running.Process.Pid)); len(s.Processes) != 1 {
		t.Error("running:", s)
	}
	must.Do(t, running.Process.Kill())
	for _, c := range []*exec.Cmd{killed, running} {
		_ = c.Wait() // the error is the signal
	}
}
