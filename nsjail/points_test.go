package nsjail

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// TestMissingMountPoints: they are made over the directories that brig shows read-only, however the jail is made.
func TestMissingMountPoints(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "f"), []byte("found"), 0o644))
	bind := func(to string) spec.Mount { return spec.Mount{Type: spec.MountBind, Source: dir, Target: to} }
	for name, o := range map[string]RunnerOptions{"prepared": {}, "cold": {Cold: true}, "pool": {Pool: 1, Reuse: true}} {
		t.Run(name, func(t *testing.T) {
			r := runnerWith(t, o)
			for range 2 {
				c := r.Command("sh", "-c", "cat /usr/lib/brig-new/a/f && test -d /in/.new && test -x /usr/bin/env")
				c.Spec.Mounts = []spec.Mount{bind("/usr/lib/brig-new/a"), bind("/in"), {Type: spec.MountTmpfs, Target: "/in/.new"}}
				wantOutput(t, c, "found")
			}
			wantOutput(t, r.Command("sh", "-c", "test -e /usr/lib/brig-new || echo none"), "none")
		})
	}
}
