package nsjail

import (
	"io"
	"os"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestLimitProcesses: a payload that fails for want of processes ends as processes; one that copes is well, and the
// report names the limit. The peak is the limit, with init.
func TestLimitProcesses(t *testing.T) {
	for end, want := range map[string]Status{"sys.exit(1)": StatusProcesses, "pass": StatusOK} {
		c := needsLimits(t, limitProcesses(python(t, `
import os, sys, time
try:
    while True:
        if os.fork() == 0: time.sleep(1000)
except BlockingIOError: `+end)))
		_, r := mustRun(t, c)
		wantStatus(t, r, want, "processes")
		if u := r.Usage; u.ForksRefused < 1 || u.PidsPeak >= 0 && u.PidsPeak != 33 {
			t.Errorf("%s: %d forks refused, peak %d", end, u.ForksRefused, u.PidsPeak)
		}
	}
}

func limitProcesses(c *Cmd) *Cmd {
	c.Spec.Limits.Processes = 32
	return c
}

// TestLimitForkBomb: while a bomb goes off in one jail, another one starts, works and ends.
func TestLimitForkBomb(t *testing.T) {
	bomb := needsLimits(t, limitProcesses(python(t, `
import os
print("up", flush=True)
while True:
    try: os.fork()
    except OSError: pass`)))
	up, theirs, err := os.Pipe()
	must.Do(t, err)
	defer up.Close()
	bomb.Stdout = theirs
	must.Do(t, bomb.Start())
	theirs.Close()
	must.Get(io.ReadFull(up, make([]byte, 3)))(t)
	for range 5 {
		wantOutput(t, shell("seq 1000 | tail -1"), "1000")
	}
	if err := unix.Kill(bomb.Pid(), 0); err != nil {
		t.Errorf("the bomb has ended by itself: %v", err)
	}
	if err := bomb.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	r, err := bomb.Wait()
	must.Do(t, err)
	wantStatus(t, r, StatusSignal, "processes")
}

// TestLimitForkBombOfShell: the fork bomb of the shell, :(){ :|:& };:. A shell that cannot fork stops.
func TestLimitForkBombOfShell(t *testing.T) {
	c := needsLimits(t, limitProcesses(shell("bomb() { bomb | bomb & }; bomb; set -e; while :; do sleep 0.01; done")))
	c.Spec.Limits.Wall = spec.Duration(15e8)
	out, r := mustRun(t, c)
	if r.Status != StatusTimeout {
		wantStatus(t, r, StatusProcesses, "processes")
	}
	wantStatus(t, r, r.Status, "processes")
	if !strings.Contains(out, "fork") {
		t.Errorf("%.200q", out)
	}
}
