package nsjail

import (
	"slices"
	"testing"

	"brig/nsjail/spec"
)

// TestLimitDisk: a payload that fails because a tmpfs(5) is full ends as disk; one that copes is well, and the report
// names it. A full tmpfs that it has emptied again is none.
func TestLimitDisk(t *testing.T) {
	for _, story := range []struct {
		script string
		want   Status
		hit    bool
	}{
		{"dd if=/dev/zero of=/tmp/z bs=64k", StatusDisk, true},
		{"dd if=/dev/zero of=/tmp/z bs=64k; exit 0", StatusOK, true},
		{"dd if=/dev/zero of=/tmp/z bs=64k; sleep 0.5; rm /tmp/z; exit 5", StatusDisk, true}, // init looks now and then
		{"i=0; while : >/tmp/$i; do i=$((i+1)); done; exit 1", StatusDisk, true},
		{"dd if=/dev/zero of=/tmp/z bs=64k count=2; exit 5", StatusFailed, false},
	} {
		c := shell(story.script)
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountTmpfs, Target: "/tmp", Size: 1 << 20, Inodes: 50}}
		_, r := mustRun(t, c)
		if r.Status != story.want || slices.Contains(r.LimitsHit, "disk") != story.hit {
			t.Errorf("%s: %s %d %v, want %s, disk %v", story.script, r.Status, r.ExitCode, r.LimitsHit, story.want, story.hit)
		}
	}
}
