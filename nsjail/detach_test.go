package nsjail

import (
	"os"
	"path/filepath"
	"testing"

	"brig/nsjail/spec"
)

// Mounts that the kernel still dismantles after a run has returned show no files that the caller may want to unmount.
func TestOnlyOwnMountsAreLeftBehind(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev", link); err != nil { // has mounts below it everywhere
		t.Fatal(err)
	}
	bind := func(source string) spec.Spec {
		return spec.Spec{Mounts: []spec.Mount{{Type: spec.MountBind, Source: source, Target: "/input"}}}
	}
	for name, tt := range map[string]struct {
		spec spec.Spec
		want bool
	}{
		"default": {spec.Spec{}, true},
		"tmpfs":   {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}}, true},
		"file":    {spec.Spec{Mounts: []spec.Mount{{Type: spec.MountFile, Source: "/etc/passwd", Target: "/x"}}}, true},
		"root":    {bind("/etc/default"), true},
		"memory":  {bind("/dev/shm"), true},
		"other":   {bind("/proc/tty"), false},
		"below":   {bind("/"), false},
		"link":    {bind(link), false},
		"image":   {spec.Spec{Rootfs: spec.Rootfs{Path: "/etc/default"}}, true},
		"mounted": {spec.Spec{Rootfs: spec.Rootfs{Path: "/proc/tty"}}, false},
		"no init": {spec.Spec{NoInit: true}, false},
	} {
		if got := opAt(earlyPlan(t, tt.spec).Jail.Ops, "[itself, mount namespace]") >= 0; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
