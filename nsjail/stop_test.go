package nsjail

import (
	"bufio"
	"os"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Stop asks, and ends what does not end by itself, wherever the jail comes from and whether or not it has an init.
func TestStop(t *testing.T) {
	const deaf, polite = `trap "" TERM; echo ready; while :; do sleep 0.05; done`, `trap "exit 3" TERM; echo ready; while :; do sleep 0.05; done`
	for name, o := range map[string]RunnerOptions{"pool": {Pool: 1}, "cold": {Cold: true}} {
		r := runnerWith(t, o)
		for _, c := range []struct {
			script string
			signal unix.Signal
			grace  time.Duration
			noInit bool
			status Status
			code   int
			killed string
		}{
			{deaf, unix.SIGTERM, 100 * time.Millisecond, false, StatusCancelled, -1, "SIGKILL"},
			{deaf, unix.SIGTERM, 100 * time.Millisecond, true, StatusCancelled, -1, "SIGKILL"},
			{deaf, unix.SIGKILL, time.Hour, false, StatusCancelled, -1, "SIGKILL"},
			{polite, unix.SIGTERM, time.Hour, false, StatusFailed, 3, ""},
			{polite, unix.SIGTERM, 0, false, StatusFailed, 3, ""},
		} {
			pr, pw, err := os.Pipe()
			must.Do(t, err)
			cmd := r.shell(c.script)
			cmd.Spec.NoInit, cmd.Spec.Limits.Grace, cmd.Stdout = c.noInit, spec.Duration(c.grace), pw
			must.Do(t, cmd.Start())
			pw.Close()
			if line, err := bufio.NewReader(pr).ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
			for range 2 { // the second prolongs nothing
				if err := cmd.Stop(c.signal); err != nil && err != os.ErrProcessDone {
					t.Error(err)
				}
			}
			result, err := cmd.Wait()
			pr.Close()
			if err != nil || result.Status != c.status || result.ExitCode != c.code || result.Signal != c.killed {
				t.Errorf("%s %v: %+v, %v", name, c, result, err)
			}
		}
	}
}
