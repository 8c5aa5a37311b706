package host

import (
	"strings"
	"testing"
)

// TestUnmask: where a filter is in force as well, the first error has the remedy of both.
func TestUnmask(t *testing.T) {
	const status = "Name:\tbrig\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	both := unmask("masked", status)
	for _, engine := range []string{"systempaths=unconfined", "unmask=ALL"} {
		if !strings.Contains(both.String(), engine+" --security-opt seccomp=unconfined") {
			t.Errorf("%s: %s", engine, both)
		}
	}
	if one := unmask("masked", strings.Replace(status, "2", "0", 1)); strings.Contains(one.String(), "seccomp=unconfined") {
		t.Error(one)
	}
}
