package nsjail

import (
	"testing"

	"brig/nsjail/internal/spec"
)

// What a run is back before the end of must be nobody's but the kernel's: no mount of the caller's files, which
// somebody may want to unmount then.
func TestOnlyOwnMountsAreLeftBehind(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		spec spec.Spec
		want bool
	}{
		"default": {spec.Spec{}, true},
		"tmpfs":   {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}}, true},
		"file":    {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountFile, Source: "/etc/passwd", Target: "/x"}}}, true},
		"bind":    {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}}, false},
		"image":   {spec.Spec{Rootfs: spec.Rootfs{Path: dir}}, false},
		"no init": {spec.Spec{NoInit: true}, false},
	} {
		if got := opAt(earlyPlan(t, tt.spec).Jail.Ops, "[itself, mount namespace]") >= 0; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
