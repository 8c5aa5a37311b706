package main

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// The server's timers may be late.
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
	if err != nil || slack != late {
		t.Errorf("the slack is %d, %v", slack, err)
	}
}
