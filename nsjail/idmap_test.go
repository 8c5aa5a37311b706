package nsjail

import (
	"testing"

	"brig/internal/test/must"
)

// A launcher that has entered a user namespace for idmapped mounts makes no other jail: its ids would not be the host's.
func TestLauncherOfIDMapIsReplaced(t *testing.T) {
	r := must.Get(newBareRunner())(t)
	defer r.Close()
	was := r.launcher.Pid()
	for _, mapping := range []bool{false, true} {
		r.mapping = mapping
		must.Get(r.begin())(t)
		if replaced := r.launcher.Pid() != was; replaced != mapping || r.mapping {
			t.Errorf("mapping: %v, replaced: %v", mapping, replaced)
		}
	}
}
