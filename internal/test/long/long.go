// Package long divides the tests: `make test`, which is go test -short, leaves out those that call Test, and `make
// test-all` runs them.
package long

import "testing"

// Test skips a test that takes long, with -short. scripts/test.sh finds the Test functions that call it or
// testing.Short, and names them to go test.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}
