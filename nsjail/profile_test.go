package nsjail

import (
	"os"
	"path/filepath"
	"testing"

	"brig/internal/test/must"
)

// TestRunnerNoticesAChangedProfile: a Runner keeps the filter of a profile in a file until the file changes. Jails that
// are parked by then are not used.
func TestRunnerNoticesAChangedProfile(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]RunnerOptions{"warm": {}, "pool": {Pool: 2}, "cold": {Cold: true}} {
		t.Run(name, func(t *testing.T) {
			r, profile := runnerWith(t, o), filepath.Join(t.TempDir(), "profile.json")
			for i, refuses := range []bool{false, false, true, true, false} {
				text := `{"defaultAction": "SCMP_ACT_ALLOW"}`
				if refuses {
					text = `{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["uname"], "action": "SCMP_ACT_ERRNO"}]}`
				}
				must.Do(t, os.WriteFile(profile, []byte(text), 0o644))
				c := r.Command("uname")
				c.Spec.Seccomp = profile
				if res, err := c.Run(); err != nil || (res.Status != StatusOK) != refuses {
					t.Errorf("run %d: %+v, %v", i, res, err)
				}
			}
			c := r.Command("uname")
			c.Spec.Seccomp = profile
			must.Do(t, os.WriteFile(profile, []byte("{"), 0o644))
			if res, err := c.Run(); err == nil {
				t.Errorf("a broken profile: %+v", res)
			}
		})
	}
}
