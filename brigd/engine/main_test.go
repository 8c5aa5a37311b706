package engine

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

func newEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	e := must.Get(New(o))(t)
	t.Cleanup(func() { must.Do(t, e.Close()) })
	return e
}

// listSandboxes returns a caller's sandboxes, which an engine without others always knows; listSnapshots likewise.
func listSandboxes(e *Engine, c Caller) []SandboxInfo { list, _ := e.Sandboxes(c); return list }

func listSnapshots(e *Engine, c Caller) []SnapshotInfo { list, _ := e.Snapshots(c); return list }
