package nsjail

import (
	"bufio"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestInterruptEndsAScript: Ctrl-C and Ctrl-\\ reach the payload's process group, as a terminal sends them: a shell waits
// for its command, and goes on when that alone has ended.
func TestInterruptEndsAScript(t *testing.T) {
	scripts := map[string][]string{
		"sh":   {"sh", "-c", `sh -c "echo ready; exec sleep 1000"; echo no`},
		"bash": {"bash", "-c", `for i in 1 2 3; do sh -c "echo ready; exec sleep 1000"; done`},
		"loop": {"sh", "-c", "while :; do sh -c 'echo ready; exec sleep 1000'; done"},
	}
	for way, set := range map[string]func(*spec.Spec){
		"init":    func(*spec.Spec) {},
		"no init": func(s *spec.Spec) { s.NoInit = true },
		"process": func(s *spec.Spec) { s.Tier = spec.TierProcess },
	} {
		for name, args := range scripts {
			for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGQUIT} {
				if name == "bash" && sig == unix.SIGQUIT { // which it ignores: bash(1)
					continue
				}
				t.Run(way+"/"+name+"/"+unix.SignalName(sig), func(t *testing.T) {
					t.Parallel() // one that is red waits
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					c := CommandContext(ctx, args[0], args[1:]...)
					if set(&c.Spec); c.Spec.Tier != "" && landlock.ABI() < landlock.ScopeABI {
						t.Skip("Landlock has no scope for signals")
					}
					r, w, err := os.Pipe()
					must.Do(t, err)
					defer r.Close()
					c.Stdout = w
					must.Do(t, c.Start())
					w.Close()
					out := bufio.NewReader(r)
					must.Get(out.ReadString('\n'))(t)
					must.Do(t, c.Signal(sig))
					if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
						t.Errorf("it goes on: %q, %v", rest, err)
					}
					// a shell that is process 1 exits, since no signal would end it
					if r, err := c.Wait(); err != nil || r.Signal != unix.SignalName(sig) && r.ExitCode != 128+int(sig) {
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
		}
	}
}
