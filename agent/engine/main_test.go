package engine

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
)

// TestMain runs the suite as root and again as an ordinary user.
func TestMain(m *testing.M) { os.Exit(asuser.Main(m)) }

func newEngine(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
