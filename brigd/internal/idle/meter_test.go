package idle

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"brig/internal/test/must"
)

// A process that works does so, and one that waits does not; what a child has taken counts when it has ended, too.
func TestMeter(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	must.Do(t, sleep.Start())
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	var quiet, busy Meter
	quiet.Works(sleep.Process.Pid)
	busy.Works(os.Getpid())
	must.Do(t, exec.Command("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").Run())
	if quiet.Works(sleep.Process.Pid) {
		t.Error("a process that sleeps works")
	}
	if !busy.Works(os.Getpid()) {
		t.Error("what a child has taken does not count")
	}
}

// A payload chooses the name of its process.
func TestInStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 1 20 300 4000 20 0"
	for _, line := range []string{"7 (sh)" + rest, "7 (a) S 1 1 1 1 1 1 1 1 1 1 9 9 9 9)" + rest, "7 (\n)))" + rest, "7 ()" + rest} {
		if got := inStat(line); got != 4321*time.Second/100 {
			t.Errorf("%q: %v", line, got)
		}
	}
	for _, line := range []string{"", "7 (sh", "7 (sh)", "7 (sh) S 1"} {
		if got := inStat(line); got != 0 {
			t.Errorf("%q: %v", line, got)
		}
	}
}
