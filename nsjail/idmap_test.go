package nsjail

import (
	"testing"
)

// A launcher that has entered a user namespace for idmapped mounts makes no other jail: its ids would not be the host's.
func TestLauncherOfIDMapIsReplaced(t *testing.T) {
	r, err := newBareRunner()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	was := r.launcher.Pid()
	for _, mapping := range []bool{false, true} {
		r.mapping = mapping
		if _, err := r.begin(); err != nil {
			t.Fatal(err)
		}
		if replaced := r.launcher.Pid() != was; replaced != mapping || r.mapping {
			t.Errorf("mapping: %v, replaced: %v", mapping, replaced)
		}
	}
}
