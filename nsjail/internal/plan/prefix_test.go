package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/internal/program"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

func prefixOf(t *testing.T, in *input) *Prefix {
	t.Helper()
	return must.Get(NewPrefix(in.Spec, in.host, in.mode))(t)
}

// Specs of one prefix differ only in what the prefix does not depend on.
func TestPrefixSpec(t *testing.T) {
	set := func(f func(*spec.Spec)) spec.Spec {
		s := &spec.Spec{Args: []string{"id"}}
		f(s)
		return PrefixSpec(s)
	}
	tmpfs := func(targets ...string) func(*spec.Spec) {
		return func(s *spec.Spec) {
			for _, target := range targets {
				s.Mounts = append(s.Mounts, spec.Mount{Type: spec.MountTmpfs, Target: target})
			}
		}
	}
	image := func(more func(*spec.Spec)) func(*spec.Spec) {
		return func(s *spec.Spec) { s.Rootfs.Path = "/image"; more(s) }
	}
	none := func(*spec.Spec) {}
	for name, c := range map[string]struct {
		a, b func(*spec.Spec)
		one  bool
	}{
		"another command":         {none, func(s *spec.Spec) { s.Args = []string{"ls", "-l"} }, true},
		"another environment":     {none, func(s *spec.Spec) { s.Env, s.PassEnv = []string{"A=1"}, []string{"B"} }, true},
		"another directory":       {none, func(s *spec.Spec) { s.Workdir = "/d" }, true},
		"the keeper's limits":     {none, func(s *spec.Spec) { s.Limits.Wall, s.Limits.Output = 5, 6 }, true},
		"another limit":           {none, func(s *spec.Spec) { s.Limits.Memory = 5 }, false},
		"another user":            {none, func(s *spec.Spec) { s.User = "5" }, false},
		"another network":         {none, func(s *spec.Spec) { s.Net = spec.NetNone }, false},
		"without init":            {none, func(s *spec.Spec) { s.NoInit = true }, false},
		"a mount or none":         {none, tmpfs("/a"), false},
		"other mounts":            {tmpfs("/a"), tmpfs("/b", "/c"), true},
		"other protected paths":   {tmpfs("/a"), func(s *spec.Spec) { tmpfs("/a")(s); s.Protect = []string{"/a/x"} }, true},
		"one over a scratch":      {tmpfs("/a"), tmpfs("/tmp"), false},
		"and with another beside": {tmpfs("/tmp"), tmpfs("/b", "/tmp"), true},
		"another scratch":         {tmpfs("/work"), tmpfs("/tmp"), false},
		"one in /etc":             {tmpfs("/a"), tmpfs("/etc/x"), false},
		"another in /etc":         {tmpfs("/etc/y"), tmpfs("/etc/x"), true},
		"a name like /etc":        {tmpfs("/a"), tmpfs("/etcetera"), true},
		"mounts on an image":      {image(tmpfs("/a")), image(tmpfs("/b")), false},
		"another image":           {image(none), func(s *spec.Spec) { s.Rootfs.Path = "/other" }, false},
	} {
		if one := reflect.DeepEqual(set(c.a), set(c.b)); one != c.one {
			t.Errorf("%s: one prefix: %v", name, one)
		}
	}
	s := &spec.Spec{Args: []string{"id"}, Mounts: []spec.Mount{{Target: "/a"}}}
	if PrefixSpec(s); len(s.Mounts) != 1 || s.Args == nil {
		t.Error("the Spec has changed")
	}
}

// A prefix and a suffix are together one list, which ends the prefix where it waits, and has the run's parts after that.
func TestPrefixAndSuffix(t *testing.T) {
	mount := mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: "/in"})
	for name, c := range map[string]struct {
		in      *input
		prefix  []string // labels that must be there
		suffix  []string
		passed  string // the mounts that are passed with the prefix, then those with the suffix
		netns   bool
		watches bool
	}{
		"filter first": {asked(prepared, preset(t)), []string{"caps", "seccomp", "pivot"}, []string{"stdio", "workdir", "exec"}, "", false, false},
		"no filter":    {asked(prepared), []string{"caps", "pivot"}, []string{"stdio", "seccomp", "exec"}, "", false, false},
		"a bind":       {asked(prepared, preset(t), mount), []string{"rootfs"}, []string{"mounts[0]", "pivot", "caps", "seccomp"}, "late", false, false},
		"a pool":       {asked(prepared, preset(t), func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Net = true }), []string{"seccomp"}, []string{"stdio"}, "", true, false},
		"an image": {asked(prepared, preset(t), imaged, func(s *spec.Spec, h *host.Host, m *Mode) { mount(s, h, m) }),
			[]string{"mounts[0]", "pivot", "seccomp"}, []string{"stdio"}, "early early", false, false},
	} {
		x := prefixOf(t, c.in)
		p := must.Get(x.Resolve(c.in.Spec, x.Plan.Host))(t)
		if last := x.Plan.Prefix.Ops[len(x.Plan.Prefix.Ops)-1]; last.NR != program.Park || p.Prefix != x.Plan.Prefix {
			t.Errorf("%s: the prefix ends with %s", name, last.Call())
		}
		for _, label := range c.prefix {
			if calls(x.Plan.Prefix, label) == nil {
				t.Errorf("%s: the prefix has no %s: %q", name, label, labels(x.Plan.Prefix))
			}
		}
		for _, label := range c.suffix {
			if calls(p.Jail, label) == nil {
				t.Errorf("%s: the suffix has no %s: %q", name, label, labels(p.Jail))
			}
		}
		var when []string
		for _, m := range p.Passed {
			when = append(when, map[bool]string{true: "early", false: "late"}[m.InPrefix])
		}
		if got := strings.Join(when, " "); got != c.passed || (p.Netns != 0) != c.netns {
			t.Errorf("%s: passed %q, network namespace in slot %d", name, got, p.Netns)
		}
		for _, o := range p.Jail.Ops {
			if o.Save >= p.Stdio && o.Save < p.Stdio+3 {
				t.Errorf("%s: %s overwrites a stream of the run", name, o.Call())
			}
		}
	}
}

// imaged makes a directory of the caller's the root.
func imaged(s *spec.Spec, h *host.Host, _ *Mode) {
	s.Rootfs.Path = "/image"
	h.Sources.Put(host.SourceOf(spec.Root), &host.Source{Path: "/image", Dir: true, UID: h.UID, GID: h.GID, Mode: 0o755})
}

// One prefix serves many runs: each has its own command, and none changes what the next one gets.
func TestPrefixServesManyRuns(t *testing.T) {
	mount := func(target string) func(*spec.Spec, *host.Host, *Mode) {
		return mounted(spec.Mount{Type: spec.MountBind, Source: "/s", Target: target, Writable: true})
	}
	in := asked(prepared, preset(t), mount("/a"))
	x := prefixOf(t, in)
	before := x.Plan.String()
	run := func(target, command string) *Plan {
		other := asked(prepared, preset(t), mount(target))
		other.Args = []string{command}
		h := *x.Plan.Host
		h.Sources = other.host.Sources
		return must.Get(x.Resolve(other.Spec, &h))(t)
	}
	first := run("/a", "ls")
	text := first.String()
	second := run("/other", "cat")
	if strings.Contains(second.Jail.String(), `"/a"`) || !strings.Contains(second.Jail.String(), "other") || !slices.ContainsFunc(second.Exec, func(p string) bool { return strings.HasSuffix(p, "/cat") }) {
		t.Errorf("the second run:\n%s", second.Jail)
	}
	if first.String() != text || x.Plan.String() != before {
		t.Error("a run has changed the one before, or the prefix")
	}
	same(t, "again", run("/a", "ls").String(), text)
}

// A prefix that cannot be, and a run that cannot, are errors of their own; a run's error leaves the prefix to others.
func TestPrefixFails(t *testing.T) {
	in := asked(prepared, without("user", "off"))
	if _, err := NewPrefix(in.Spec, in.host, in.mode); op(err) != "user" {
		t.Errorf("%v", err)
	}
	in = asked(prepared, without("seccomp", "none"))
	if _, err := NewPrefix(in.Spec, in.host, in.mode); err != nil {
		t.Errorf("the filter is the run's: %v", err)
	}
	volume := mounted(spec.Mount{Type: spec.MountVolume, Source: "gone/d", Target: "/v"})
	in = asked(prepared, volume)
	x := prefixOf(t, in)
	if p, err := x.Resolve(in.Spec, x.Plan.Host); p != nil || op(err) != "mounts[0].source" || !strings.Contains(err.Error(), `"gone"`) {
		t.Errorf("%v", err)
	}
	good := asked(prepared, mounted(spec.Mount{Type: spec.MountTmpfs, Target: "/t"}))
	if _, err := x.Resolve(good.Spec, x.Plan.Host); err != nil {
		t.Errorf("the run after it: %v", err)
	}
	bad := asked(prepared, imaged, volume)
	if _, err := NewPrefix(bad.Spec, bad.host, bad.mode); op(err) != "mounts[0].source" {
		t.Errorf("mounts on an image are the prefix's: %v", err)
	}
}
