// Package must ends a test at an error that it does not expect.
package must

import "testing"

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns v, or ends the test if err is not nil: data := must.Get(os.ReadFile(name))(t).
func Get[V any](v V, err error) func(t testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		Do(t, err)
		return v
	}
}
