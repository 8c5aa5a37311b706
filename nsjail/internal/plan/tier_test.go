package plan

import (
	"slices"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/landlock"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// The tier without namespaces needs a new Landlock and its filter; a namespace cannot be required of it, and all that
// is missing is told.
func TestDecideTier(t *testing.T) {
	require := func(names ...string) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = names }
	}
	net := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = spec.NetHost }
	for name, c := range map[string]struct {
		in    *input
		op    string
		ports bool // TCP is refused
	}{
		"as it is":           {asked(inTier), "", true},
		"the host's network": {asked(inTier, net), "", false},
		"an old Landlock":    {asked(inTier, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Landlock = landlock.ScopeABI - 1 }), "landlock", true},
		"no filter":          {asked(inTier, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Guard = nil }), "seccomp", true},
		"a missing filter":   {asked(inTier, without("seccomp", "none")), "seccomp", true},
		"a namespace":        {asked(inTier, require("pid")), "require", true},
		"what it has":        {asked(inTier, require("landlock", "net", "sockets")), "", true},
	} {
		out := newReport()
		d := decideTier(c.in, &out)
		if op(out.err) != c.op || (d.rules.HandledNet != 0) != c.ports || d.rules.Scope == 0 && c.op == "" {
			t.Errorf("%s: %+v, %v", name, d.rules, out.err)
		}
		for _, m := range []string{"user", "mount", "pid", "ipc", "uts", "cgroup", "proc"} {
			if !strings.HasPrefix(out.enforced[m].String(), "not enforced: no namespace") {
				t.Errorf("%s: %s is %q", name, m, out.enforced[m])
			}
		}
		if open := strings.HasPrefix(out.enforced["net"].String(), "not enforced"); open == c.ports {
			t.Errorf("%s: net is %q", name, out.enforced["net"])
		}
	}
}

// A payload may use the system's directories, a few files of /proc, its own directory and its binds, each as far as the
// Spec permits, and nothing of another process.
func TestTierFiles(t *testing.T) {
	const run, file = landlock.Read | landlock.Execute, landlock.ReadFile
	in := asked(inTier, mounted(
		spec.Mount{Type: spec.MountBind, Source: "/a", Target: "/a"},
		spec.Mount{Type: spec.MountBind, Source: "/b", Target: "/b", Writable: true},
		spec.Mount{Type: spec.MountBind, Source: "/c", Target: "/c", NoExec: true},
		spec.Mount{Type: spec.MountBind, Source: "/f", Target: "/f", Writable: true, NoExec: true}))
	in.host.Sources.Of(3).Dir = false
	in.host.Sources.Of(1).Dev, in.host.Sources.Of(1).Ino = 7, 8
	list := tierFilesOf(in)
	for i, want := range []landlock.Access{run, run | landlock.Write, landlock.Read, 0} {
		if i < 3 && list[i].access != want {
			t.Errorf("%s: %x, want %x", list[i].path, list[i].access, want)
		}
	}
	if a := list[3].access; a&file == 0 || a&landlock.WriteFile == 0 || a&landlock.Execute != 0 || a&landlock.ReadDir != 0 {
		t.Errorf("a file has the rights of a directory, or too few: %x", a)
	}
	access := map[string]landlock.Access{}
	for _, path := range tierPaths(in.host) {
		access[path.Name] |= path.Access
		if strings.HasPrefix(path.Name, "/proc") && path.Access != landlock.Read || path.Name == "/" || path.Name == "/proc" || path.Name == "/etc" {
			t.Errorf("%s: %x", path.Name, path.Access)
		}
	}
	for name, want := range map[string]landlock.Access{"/usr": run, "/etc/alternatives": landlock.Read, "/etc/services": landlock.Read,
		"/var/tmp/x": run | landlock.Write, "/dev/null": landlock.ReadFile | landlock.WriteFile, "/bin": 0, "/dev/tty": 0} {
		if access[name] != want {
			t.Errorf("%s: %x, want %x", name, access[name], want)
		}
	}
	p := program.New(2)
	list[1].allow(p, &landlock.Rules{ABI: 6, Handled: landlock.All}, 1)
	if text := p.String(); !strings.Contains(text, "same_file(") || !strings.Contains(text, ", 7, 8)") || strings.Index(text, "same_file(") > strings.Index(text, "landlock_add_rule") {
		t.Errorf("the file is not known when it is allowed:\n%s", text)
	}
}

// What the tier does not hold is noted, and only that.
func TestTierNotes(t *testing.T) {
	bind := func(writable bool) func(*spec.Spec, *host.Host, *Mode) {
		return mounted(spec.Mount{Type: spec.MountBind, Source: "/a", Target: "/a", Writable: writable})
	}
	owner := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Owner = 5 }
	const writes, shares = "nothing in a writable directory is protected", "has the uid of programs on the host"
	for name, c := range map[string]struct {
		in   *input
		want []string
	}{
		"a user":                 {asked(inTier), []string{"no namespaces", shares}},
		"who writes":             {asked(inTier, bind(true)), []string{"no namespaces", writes, shares}},
		"who reads":              {asked(inTier, bind(false)), []string{"no namespaces", shares}},
		"root's own user":        {asked(called, inTier, bind(true)), []string{"no namespaces", writes}},
		"the owner of its binds": {asked(called, inTier, owner), []string{"no namespaces", shares}},
	} {
		out := newReport()
		tierNotes(c.in, &out)
		for i, note := range out.notes {
			if i >= len(c.want) || !strings.Contains(note.String(), c.want[i]) {
				t.Errorf("%s: %q", name, out.notes)
			}
		}
		same(t, name, len(out.notes), len(c.want))
	}
}

// In the tier init can end all, and nothing of the payload's can end init.
func TestTierProgram(t *testing.T) {
	in := asked(inTier, preset(t))
	in.Tier = spec.TierProcess
	p := must.Get(in.mode.ResolveChecked(in.Spec, in.host))(t)
	same(t, "namespaces", p.Flags, 0)
	var at []int
	for _, call := range []string{"PR_SET_CHILD_SUBREAPER", "landlock_restrict_self", "fork_init", "PR_SET_PDEATHSIG", "landlock_restrict_self", "execve"} {
		from := 0
		if len(at) > 0 {
			from = at[len(at)-1] + 1
		}
		i := slices.IndexFunc(p.Jail.Ops[from:], func(o program.Op) bool { return strings.Contains(o.Call(), call) })
		if i < 0 {
			t.Fatalf("no %s after operation %d of\n%s", call, from, p.Jail)
		}
		at = append(at, from+i)
	}
	if env := p.Env; !slices.Contains(env, "HOME=/var/tmp/x") || !slices.Contains(env, "TMPDIR=/var/tmp/x") || !slices.Contains(env, "GIT_CONFIG_NOSYSTEM=1") {
		t.Errorf("%q", env)
	}
}
