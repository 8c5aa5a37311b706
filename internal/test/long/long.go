// Package long divides the tests: `make test`, which is go test -short, leaves out those that call Test, and `make
// test-all` runs them.
package long

import (
	"testing"

	"brig/internal/test/asuser"
)

// Test skips a test that takes long, with -short. scripts/test.sh finds the Test functions that call it, Again,
// testing.Short or nsjail's runRole, and names them to go test.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

// Again skips a test, with -short, in the run as an ordinary user: it is about no right of its caller, and the run as
// root has just shown what it shows.
func Again(t testing.TB) {
	t.Helper()
	if asuser.Second() {
		Test(t)
	}
}
