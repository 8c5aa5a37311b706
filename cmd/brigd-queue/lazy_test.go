package main

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The server's threads have late timers and interrupt nobody.
func TestLazy(t *testing.T) {
	const again = "BRIG_TEST_LAZY"
	if os.Getenv(again) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLazy$")
		cmd.Env = append(os.Environ(), again+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := lazy(); err != nil {
		t.Fatal(err)
	}
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	a, no := unix.SchedGetAttr(0, 0)
	if err != nil || no != nil || slack != late || a.Policy != unix.SCHED_BATCH {
		t.Errorf("%v %v: the slack is %d, the policy %v", err, no, slack, a)
	}
}
