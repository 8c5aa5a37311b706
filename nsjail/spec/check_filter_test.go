package spec

import (
	"strings"
	"testing"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		why  string // "" for none
		spec Spec
	}{
		{"", Spec{AppArmor: "/usr/bin/firefox//browser", SELinuxLabel: "system_u:system_r:container_t:s0:c1,c2"}},
		{"", Spec{AppArmor: "a profile", SELinuxLabel: "u:r:t"}},
		{"", Spec{AppArmor: strings.Repeat("x", maxLabel)}},
		{"is longer", Spec{AppArmor: strings.Repeat("x", maxLabel+1)}},
		{"confines nothing", Spec{AppArmor: "unconfined"}},
		{"control byte", Spec{AppArmor: "a\nb"}},
		{"begins or ends with a blank", Spec{AppArmor: " a"}},
		{"NUL byte", Spec{AppArmor: "a\x00b"}},
		{"not UTF-8", Spec{SELinuxLabel: "u:r:\xff"}},
		{"is not a context", Spec{SELinuxLabel: "container_t"}},
		{"without init", Spec{AppArmor: "a", NoInit: true}},
		{"in the process tier", Spec{SELinuxLabel: "u:r:t", Tier: TierProcess}},
		{"the spec does not set it", Spec{AppArmor: "a", Require: []string{"selinux"}}},
		{"", Spec{AppArmor: "a", Require: []string{"apparmor"}}},
	} {
		c.spec.Args = []string{"true"}
		problems := c.spec.Check()
		if len(problems) == 0 != (c.why == "") || c.why != "" && !strings.Contains(problems[0].Reason, c.why) {
			t.Errorf("%+v: %v, want %q", c.spec, problems, c.why)
		}
	}
}

func TestCheckSeccomp(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"seccomp NUL": {checkSeccomp("/a\x00"),
			`seccomp: "/a\x00" has a NUL byte at offset 2...`},
		"seccomp latin1": {checkSeccomp("\xe9"), `seccomp: "\xe9" is not UTF-8; write it in UTF-8`},
		"good":           {append(checkSeccomp(""), checkSeccomp("./\xe9.json")...), ``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}
