package measure

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// extraMounts are added to the caller's mount table.
var extraMounts = []int{0, 100, 1000}

func mounts() Dimension {
	return Dimension{"mounts", "Start under a large mount table", runMounts}
}

// runMounts keeps a process in a mount namespace of its own for each table, and asks them in turn.
func runMounts(ctx context.Context, e *Env) (result.Table, error) {
	t := result.Table{ID: "mounts", Title: "Start under a large mount table", Unit: "ms", X: "extra mounts",
		Question: "How long does a jail take when the caller's mount table has many other mounts?",
		Notes: []string{"bars: at 1000 mounts, brig run at most 2.0 of itself at 0, a prestarted Runner at most 1.1",
			"the mounts are in mount namespaces of the benchmark's own processes, not in the host's"}}
	counts := extraMounts
	if e.Quick {
		counts = []int{0, 1000}
	}
	var names []string
	for _, tool := range e.Tools {
		if near(tool) && !(e.Quick && slowToStart(tool)) {
			names = append(names, tool.Info.Name)
		}
	}
	return acrossWorkers(ctx, e, t, names, counts, Plan{Rounds: e.Count(60, 10), Warm: 2, Budget: e.budget(60, 3)},
		func(ctx context.Context, n int) (*load.Client, error) {
			dir, err := e.scratch()
			if err != nil {
				return nil, err
			}
			below := filepath.Join(dir, "mounts")
			if err := os.Mkdir(below, 0o755); err != nil {
				return nil, err
			}
			// without extra mounts there is one all the same, so that the workers differ in nothing else
			return load.Apart(ctx, load.Config{Mounts: max(1, n), Dir: below, Brig: e.Brig, Scratch: dir})
		})
}

// near says that a tool makes its jail from where it is started: a daemon has a mount table of its own.
func near(t *peers.Tool) bool {
	if t.Info.Absent != "" {
		return false
	}
	for _, daemon := range []string{"docker", "podman", "containerd", "systemd"} {
		if strings.HasPrefix(t.Info.Name, daemon) {
			return false
		}
	}
	return true
}

// slowToStart says that a tool takes a tenth of a second for a jail, too long for a quick run that starts many.
func slowToStart(t *peers.Tool) bool { return !near(t) || strings.HasPrefix(t.Info.Name, "gVisor") }
