package verdict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestOverCPU: SIGKILL is sent at the hard limit, and SIGXCPU at the soft one.
func TestOverCPU(t *testing.T) {
	l := &nsjail.Limits{Rlimits: map[string]spec.Rlimit{"cpu": {Soft: 1, Hard: 2}}}
	for sig, want := range map[unix.Signal]string{unix.SIGXCPU: "limit of 1s", unix.SIGKILL: "limit of 2s"} {
		if got := overCPU(l, sig); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", sig, got, want)
		}
	}
}

// Every end of a run has a code that is not 0 unless it succeeded, and a line for what the code cannot express.
func TestVerdicts(t *testing.T) {
	const second = nsjail.Duration(time.Second)
	limits := nsjail.Limits{Idle: 2 * second, Memory: 1 << 20, OutputLimit: 1000, CPUTime: 5 * second}
	for name, c := range map[string]struct {
		asked  Run
		result nsjail.Result
		code   int
		lines  string
	}{
		"a success":      {result: nsjail.Result{Status: nsjail.StatusOK}},
		"a failure":      {result: nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 3}, code: 3},
		"a full disk":    {result: nsjail.Result{Status: nsjail.StatusDisk, ExitCode: 1}, code: 1, lines: "the payload failed, and a file system of the jail was full " + diskFlags},
		"a timeout":      {asked: Run{Wall: 3 * second}, result: nsjail.Result{Status: nsjail.StatusTimeout, ExitCode: -1, Signal: "SIGKILL"}, code: 124, lines: "the wall-clock limit of 3s ended the jail (--timeout)"},
		"an idle jail":   {result: nsjail.Result{Status: nsjail.StatusTimeout, LimitsHit: []string{"idle"}}, code: 124, lines: "no output for 2s ended the jail (--idle-timeout)"},
		"an escape":      {asked: Run{Escaped: true}, result: nsjail.Result{Status: nsjail.StatusCancelled, Signal: "SIGKILL"}, code: 137, lines: "~. ended the jail"},
		"a grace period": {result: nsjail.Result{Status: nsjail.StatusCancelled, Signal: "SIGKILL"}, code: 137, lines: "the payload had not ended " + spec.DefaultGrace.String() + " after the signal, and was killed (--grace)"},
		"memory":         {result: nsjail.Result{Status: nsjail.StatusMemory, LimitsHit: []string{"memory"}}, code: 137, lines: "out of memory: the limit of 1m ended the payload (--memory)"},
		"output":         {result: nsjail.Result{Status: nsjail.StatusOutput}, code: 137, lines: "more than 1000 bytes of output ended the jail (--output-limit)"},
		"an interrupt":   {result: nsjail.Result{Status: nsjail.StatusSignal, Signal: "SIGINT"}, code: 130},
		"a signal":       {result: nsjail.Result{Status: nsjail.StatusSignal, Signal: "SIGTERM"}, code: 143, lines: "terminated (SIGTERM)"},
		"a signal, JSON": {asked: Run{JSON: true}, result: nsjail.Result{Status: nsjail.StatusSignal, Signal: "SIGTERM"}, code: 143},
		"replaced paths": {result: nsjail.Result{Status: nsjail.StatusOK, Replaced: []string{"/a", "/b"}}, lines: `"/a" and 1 more: replaced from outside of the jail while it ran, and not protected from then on: look there`},
		"a missing file": {asked: Run{Host: true}, result: nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 1, Last: []byte("x: No such file or directory")}, code: 1, lines: "if it lacks a file of the host, brig learn finds which: write learn in place of run"},
		"of an image":    {result: nsjail.Result{Status: nsjail.StatusFailed, ExitCode: 1, Last: []byte("x: No such file or directory")}, code: 1},
	} {
		c.asked.Limits = &limits
		if got := strings.Join(c.asked.Lines(&c.result, words.Neutral), "\n"); got != c.lines {
			t.Errorf("%s: %q, want %q", name, got, c.lines)
		}
		if got := Code(&c.result); got != c.code {
			t.Errorf("%s: code %d, want %d", name, got, c.code)
		}
	}
}

func TestStartCode(t *testing.T) {
	for err, want := range map[error]int{errors.New("x"): cli.ExitUsage, fmt.Errorf("x: %w", nsjail.ErrNotFound): 127, nsjail.ErrNotExecutable: 126} {
		if got := StartCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
