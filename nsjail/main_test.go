package nsjail

import (
	"os"
	"testing"

	"brig/internal/testuser"
)

// TestMain runs the suite as root and again as an ordinary user: both kinds of caller take other paths through the plan.
func TestMain(m *testing.M) { os.Exit(testuser.Main(m, testuser.Build("./cmd/brig", "brig"))) }
