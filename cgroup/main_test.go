package cgroup

import (
	"fmt"
	"os"
	"testing"

	"brig/internal/test/asuser"
)

// TestMain runs the suite as root, as a user without groups, and as a user in delegated ones. A child of a test is this
// binary again, in a part that a variable names.
func TestMain(m *testing.M) {
	if part := os.Getenv(partVar); part != "" {
		if err := play(part); err != nil {
			fmt.Fprintln(os.Stderr, part+":", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(asuser.Main(m, asuser.Delegate("")))
}
