package nsjail

import (
	"testing"

	"brig/nsjail/internal/spec"
)

// Mounts that the kernel still dismantles when a run has returned must be brig's own, not mounts of the caller's files,
// which the caller may want to unmount then.
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
