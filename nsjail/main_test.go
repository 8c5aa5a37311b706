package nsjail

import (
	"os"
	"testing"

	"brig/internal/testuser"
)

// TestMain runs the suite as root, again as an ordinary user, and the stories of limits once more as one with control
// groups of its own: these callers take other paths through the plan.
func TestMain(m *testing.M) {
	os.Exit(testuser.Main(m, testuser.Build("./cmd/brig", "brig"), testuser.Delegate("^TestLimit")))
}
