package cache

import (
	"testing"

	"brig/nsjail/spec"
)

// TestLevel: what sets a run apart from those that are trusted less, and what does not.
func TestLevel(t *testing.T) {
	writable := []spec.Mount{{Type: spec.MountBind, Target: "/work", Writable: true}}
	cow := []spec.Mount{{Type: spec.MountCOW, Target: "/work"}}
	for _, tt := range []struct {
		jail spec.Spec
		want string
	}{
		{spec.Spec{}, ""},
		{spec.Spec{Net: spec.NetEgress, User: "0", Protect: []string{"Makefile"}, Git: spec.GitRO}, ""},
		{spec.Spec{Env: []string{"CI=1", "npm_config_cache=/x"}, PassEnv: []string{"LC_*", "npm_config_cache"}}, ""},
		{spec.Spec{Seccomp: "default"}, ""},
		{spec.Spec{Env: []string{"NPM_TOKEN=x"}}, "credentials in variables"},
		{spec.Spec{PassEnv: []string{"AWS_PROFILE"}}, "credentials in variables"},
		{spec.Spec{PassEnv: []string{"npm_config_userconfig"}}, "credentials in variables"},
		{spec.Spec{Optional: []string{"memory"}}, ""},
		{spec.Spec{Optional: []string{"sockets"}}, "sockets of the host"},
		{spec.Spec{Net: spec.NetHost}, "the network of the host"},
		{spec.Spec{Git: spec.GitRW}, "git directories"},
		{spec.Spec{Protect: []string{spec.ProtectGit, "!.idea"}, Mounts: writable}, "protected paths"},
		{spec.Spec{Mounts: writable}, "protected paths"}, // --no-protect
		{spec.Spec{Mounts: cow}, "protected paths"},
		{spec.Spec{Mounts: writable, Protect: []string{"x"}}, "protected paths"},
		{spec.Spec{Mounts: writable, Protect: []string{spec.ProtectGit}}, ""},
		{spec.Spec{Mounts: []spec.Mount{{Type: spec.MountBind, Target: "/in"}}}, ""},
		{spec.Spec{Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/t"}}}, ""},
		{spec.Spec{Mounts: []spec.Mount{(&Cache{}).Mount()}}, ""},
		{spec.Spec{Seccomp: "unconfined"}, "seccomp unconfined"},
		{spec.Spec{Seccomp: "./a\x1b.json"}, `seccomp ./a\x1b.json`},
		{spec.Spec{Net: spec.NetHost, Git: spec.GitRW}, "the network of the host, git directories"},
	} {
		if got := Level(&tt.jail); got != tt.want {
			t.Errorf("%+v: %q, not %q", tt.jail, got, tt.want)
		}
	}
}
