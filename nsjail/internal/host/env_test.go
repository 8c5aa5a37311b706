package host

import (
	"slices"
	"testing"

	"brig/nsjail/spec"
)

func TestBuildEnv(t *testing.T) {
	for _, tt := range []struct {
		spec   *spec.Spec
		passed []string
		term   string
		want   []string
	}{
		{&spec.Spec{}, nil, "vt100", []string{"PATH=" + spec.DefaultPath, "HOME=/home/brig", "LANG=C.UTF-8", "TERM=dumb"}},
		{&spec.Spec{Rootfs: spec.Rootfs{Path: "/image"}}, nil, "", []string{"PATH=" + spec.DefaultPath, "HOME=/tmp", "LANG=C.UTF-8", "TERM=dumb"}},
		{&spec.Spec{Mounts: []spec.Mount{{Type: spec.MountBind, Target: "/home"}}}, nil, "", []string{"PATH=" + spec.DefaultPath, "HOME=/tmp", "LANG=C.UTF-8", "TERM=dumb"}},
		{&spec.Spec{Mounts: []spec.Mount{{Type: spec.MountVolume, Target: "/work", Writable: true}}}, nil, "",
			[]string{"PATH=" + spec.DefaultPath, "HOME=/work", "LANG=C.UTF-8", "TERM=dumb"}},
		{&spec.Spec{TTY: true}, nil, "", []string{"PATH=" + spec.DefaultPath, "HOME=/home/brig", "LANG=C.UTF-8", "TERM=xterm-256color"}},
		{&spec.Spec{TTY: true}, nil, "vt100", []string{"PATH=" + spec.DefaultPath, "HOME=/home/brig", "LANG=C.UTF-8", "TERM=vt100"}},
		{&spec.Spec{Env: []string{"B=2", "A=3", "B=4", "HOME=/h"}}, []string{"A=1", "PATH=/p"}, "",
			[]string{"PATH=/p", "HOME=/h", "LANG=C.UTF-8", "TERM=dumb", "A=3", "B=4"}},
		{&spec.Spec{BareEnv: true, Env: []string{"B=2"}}, []string{"A=1"}, "", []string{"A=1", "B=2"}},
	} {
		if got := BuildEnv(tt.spec, tt.passed, tt.term); !slices.Equal(got, tt.want) {
			t.Errorf("BuildEnv(%+v, %q) = %q, want %q", tt.spec, tt.passed, got, tt.want)
		}
	}
}
