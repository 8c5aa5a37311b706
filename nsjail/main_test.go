package nsjail

import (
	"os"
	"testing"

	"brig/internal/test/asuser"
)

// TestMain runs the suite as root, again as an ordinary user, and the stories of limits once more as one with control
// groups of its own: these callers take other paths through the plan.
func TestMain(m *testing.M) {
	os.Exit(asuser.Main(m, asuser.Build("./cmd/brig", "brig"), asuser.Delegate("^TestLimit")))
}
