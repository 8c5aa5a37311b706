package spec

import (
	"strings"
	"testing"
)

// TestTier: each field that a jail without namespaces cannot hold is refused by its name, and the rest is not.
func TestTier(t *testing.T) {
	bind := func(source, target string, writable bool) Mount {
		return Mount{Type: MountBind, Source: source, Target: target, Writable: writable}
	}
	for _, c := range []struct {
		field string // "" for none
		spec  Spec
	}{
		{"", Spec{}},
		{"", Spec{Net: NetNone, Seccomp: "strict", Workdir: "/srv"}},
		{"", Spec{Net: NetHost, Mounts: []Mount{bind("/srv", "/srv", true), bind("/opt", "/opt", false)}}},
		{"rootfs", Spec{Rootfs: Rootfs{Path: "/srv"}}},
		{"user", Spec{User: "0"}},
		{"hostname", Spec{Hostname: "x"}},
		{"no_init", Spec{NoInit: true}},
		{"tty", Spec{TTY: true}},
		{"protect", Spec{Protect: []string{"x"}}},
		{"etc", Spec{Etc: []string{"fonts"}}},
		{"publish", Spec{Publish: []string{"80:80"}}},
		{"net", Spec{Net: NetLoopback}},
		{"net", Spec{Net: NetEgress}},
		{"seccomp", Spec{Seccomp: "unconfined"}},
		{"mounts[0].target", Spec{Mounts: []Mount{bind("/srv", "/work", false)}}},
		{"mounts[0].target", Spec{Mounts: []Mount{bind("srv", "/srv", false)}}},
		{"mounts[0].type", Spec{Mounts: []Mount{{Type: MountTmpfs, Target: "/x"}}}},
		{"mounts[0].type", Spec{Mounts: []Mount{{Type: MountCOW, Source: "/x", Target: "/x"}}}},
		{"mounts[1].writable", Spec{Mounts: []Mount{bind("/srv", "/srv", true), bind("/srv/a", "/srv/a", false)}}},
		{"tier", Spec{Tier: "vm"}},
	} {
		if c.spec.Args = []string{"true"}; c.spec.Tier == "" {
			c.spec.Tier = TierProcess
		}
		problems := c.spec.Check()
		found := c.field == "" && len(problems) == 0
		for _, p := range problems {
			found = found || p.Path == c.field && !strings.Contains(p.Reason, "  ")
		}
		if !found {
			t.Errorf("%q: %v", c.field, problems)
		}
	}
}
