// Package long divides the tests: `make test` leaves out those that call Test, and `make test-all` runs them.
package long

import (
	"os"
	"testing"
)

// Test skips a test that takes long, unless BRIG_TEST_LONG is set. scripts/test.sh finds the Test functions that call
// it, and names them to go test.
func Test(t testing.TB) {
	t.Helper()
	if os.Getenv("BRIG_TEST_LONG") == "" {
		t.Skip("make test-all runs it, or BRIG_TEST_LONG=1")
	}
}
