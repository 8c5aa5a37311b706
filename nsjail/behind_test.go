package nsjail

import "testing"

// What a run is back before the end of must be nobody's but the kernel's: no mount of the caller's files, which somebody
// may want to unmount then.
func TestOnlyOwnMountsAreLeftBehind(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		spec Spec
		want bool
	}{
		"default": {Spec{}, true},
		"tmpfs":   {Spec{Mounts: []Mount{{Type: MountTmpfs, Target: "/work"}}}, true},
		"file":    {Spec{Mounts: []Mount{{Type: MountFile, Source: "/etc/passwd", Target: "/x"}}}, true},
		"bind":    {Spec{Mounts: []Mount{{Type: MountBind, Source: dir, Target: "/input"}}}, false},
		"image":   {Spec{Rootfs: Rootfs{Path: dir}}, false},
		"no init": {Spec{NoInit: true}, false},
	} {
		if got := opAt(earlyPlan(t, tt.spec).Jail.Ops, "[itself, mount namespace]") >= 0; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
