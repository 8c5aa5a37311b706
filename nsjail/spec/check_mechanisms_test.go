package spec

import "testing"

func TestCheckMechanisms(t *testing.T) {
	for name, tt := range map[string]struct {
		got  problems
		want string // the whole line, or its beginning when it ends in ...
	}{
		"mechanism": {checkMechanisms([]string{"secomp"}, nil, nil, ""),
			`require[0]: "secomp" is not a mechanism; did you mean seccomp?`},
		"both lists": {checkMechanisms([]string{"seccomp"}, []string{"seccomp"}, nil, ""),
			`require[0]: "seccomp" is also listed under optional; remove one of the two`},
		"unset limit": {checkMechanisms([]string{"io"}, nil, map[string]bool{"cpus": true}, ""),
			`require[0]: "io" is required, and the spec does not set it; set it, or remove it here`},
		"no cow": {checkMechanisms(nil, []string{"cow"}, nil, ""),
			`optional[0]: without it a cow mount would change its source; remove it here, or leave out the cow mount`},
		"shared usr": {checkMechanisms([]string{"overlay"}, nil, nil, SystemShared),
			`require[0]: a shared /usr is no overlay; remove it here, or write private as rootfs.system`},
		"good": {checkMechanisms([]string{"seccomp", "io"}, []string{"overlay", "memory"}, map[string]bool{"io": true}, SystemShared),
			``},
	} {
		t.Run(name, func(t *testing.T) { wantOne(t, tt.got, tt.want) })
	}
}

func TestMechanismsAreSaid(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Mechanisms() {
		if m.Name == "" || m.What == "" || seen[m.Name] {
			t.Errorf("%q: empty, unexplained or twice", m.Name)
		}
		seen[m.Name] = true
	}
}
