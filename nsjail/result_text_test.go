package nsjail

import (
	"fmt"
	"testing"
	"time"
)

// A Result prints as one line, as a value and as a pointer.
func TestResultText(t *testing.T) {
	for want, r := range map[string]Result{
		"ok after 7ms":                      {Status: StatusOK},
		"failed (exit code 3) after 7ms":    {Status: StatusFailed, ExitCode: 3},
		"signal SIGSEGV after 7ms":          {Status: StatusSignal, ExitCode: -1, Signal: "SIGSEGV"},
		"timeout (SIGKILL) after 7ms":       {Status: StatusTimeout, ExitCode: -1, Signal: "SIGKILL"},
		"error: mount: no memory after 7ms": {Status: StatusError, ExitCode: -1, Error: &Error{Op: "mount", Detail: "no memory"}},
		"memory (SIGKILL) after 7ms, limits met: memory, wall": {Status: StatusMemory, ExitCode: -1, Signal: "SIGKILL",
			LimitsHit: []string{"memory", "wall"}},
	} {
		r.Usage.Wall = Millis(7 * time.Millisecond)
		if got := fmt.Sprintf("%v|%v|%s", r, &r, r); got != want+"|"+want+"|"+want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
