package spec

import (
	"slices"
	"testing"
)

func TestProtectedIn(t *testing.T) {
	s := &Spec{Mounts: []Mount{{Type: MountBind, Target: "/work", Writable: true}, {Type: MountCOW, Target: "/src"},
		{Type: MountTmpfs, Target: "/src/tmp"}},
		Protect: []string{"a/b", "./@c", "/src/d", "/src/tmp/e", "tmp", ProtectGit, "!.git/hooks", "!/src/.vscode", "!./.idea", "!a"}}
	envrc := []string{".envrc"}
	rest := ToolFiles[3:]
	for mount, want := range [][]string{slices.Concat([]string{"@c", "tmp"}, envrc, []string{".vscode"}, rest),
		slices.Concat([]string{"@c", "d"}, envrc, rest)} {
		if got := s.ProtectedIn(mount); !slices.Equal(got, want) {
			t.Errorf("mount %d: %q, want %q", mount, got, want)
		}
	}
}
