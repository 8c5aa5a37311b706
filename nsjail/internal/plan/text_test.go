package plan

import (
	"slices"
	"strings"
	"testing"

	"brig/cgroup"
	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// What the keeper does while the payload runs is told line by line, and nothing of what it does not.
func TestWatches(t *testing.T) {
	clock := &cgroup.Plan{Enforced: map[string]string{"cpu_time": "x"}}
	for name, c := range map[string]struct {
		p    Plan
		set  func(*spec.Spec)
		want []string
	}{
		"nothing":          {Plan{}, func(*spec.Spec) {}, nil},
		"the wall clock":   {Plan{Wall: 30e9}, func(*spec.Spec) {}, []string{"kill all after 30s"}},
		"with grace":       {Plan{Wall: 30e9}, func(s *spec.Spec) { s.Limits.Grace = 2e9 }, []string{"SIGTERM, and 2s later kill all, after 30s"}},
		"without output":   {Plan{}, func(s *spec.Spec) { s.Limits.Idle = 5e9 }, []string{"kill all after 5s without output"}},
		"processor time":   {Plan{Group: clock}, func(s *spec.Spec) { s.Limits.CPUTime = 1e9 }, []string{"kill all after 1s of processor time"}},
		"without a group":  {Plan{}, func(s *spec.Spec) { s.Limits.CPUTime = 1e9 }, nil},
		"output, and less": {Plan{}, func(s *spec.Spec) { s.Limits.OutputLimit, s.Limits.Output = 100, 10 }, []string{"kill all after 100 bytes of output", "keep 10 bytes of each stream"}},
		"a held directory": {Plan{}, func(s *spec.Spec) {
			s.Mounts = []spec.Mount{{Target: "/a"}, {Target: "/b", Held: &spec.Held{Most: 7}}, {Target: "/c", Held: &spec.Held{}}}
		}, []string{"kill all above 7 bytes in /b"}},
	} {
		c.p.Spec = &spec.Spec{}
		c.set(c.p.Spec)
		same(t, name, c.p.watches(), c.want)
	}
}

// An operation is found by its number in the whole program, as an error of init's tells it; no number is out of range.
func TestOp(t *testing.T) {
	in := asked(prepared, preset(t))
	p := must.Get(in.mode.ResolveChecked(in.Spec, in.host))(t)
	prefix := len(p.Prefix.Ops)
	all := prefix + len(p.Jail.Ops)
	for _, c := range []struct {
		i     int
		found bool
	}{{-1, false}, {0, true}, {prefix - 1, true}, {prefix, true}, {all - 1, true}, {all, false}, {1 << 30, false}, {-1 << 62, false}} {
		o, of := p.Op(c.i)
		if (o != nil) != c.found || of != all {
			t.Errorf("operation %d of %d: %v", c.i, of, o != nil)
		}
	}
	first, _ := p.Op(prefix)
	_, steps := p.Steps()
	if first != &p.Jail.Ops[0] || len(steps) != all || steps[prefix].N != prefix+1 || steps[prefix].Call != first.Call() {
		t.Errorf("the suffix begins with %s", first.Call())
	}
}

// Text of a plan names the mounts that the keeper passes, with any bytes in their paths, and whose they become.
func TestTextOfPassedMounts(t *testing.T) {
	in := asked(called, mounted(spec.Mount{Type: spec.MountBind, Source: "/s\n\x1b[2J", Target: "/in"}))
	in.host.Sources.Of(0).UID, in.host.Sources.Of(0).GID = 5, 6
	p := must.Get(in.mode.ResolveChecked(in.Spec, in.host))(t)
	text := p.String()
	if !strings.Contains(text, `"/s\n\x1b[2J" for "/in" (open_tree, idmapped 5:6 -> 2000000000:2000000000)`) || strings.Contains(text, "\x1b") {
		t.Errorf("%.300s", text)
	}
	if at, drop := strings.Index(text, "# clone3("), strings.Index(text, "# launcher: become"); drop < 0 || at < drop {
		t.Error("root does not drop its privileges before the jail")
	}
	p.Notes, p.Mode = []spec.Text{"note\nof two lines"}, Mode{}
	if !strings.Contains(p.String(), "# note: ") {
		t.Error("a note is missing")
	}
}

// The launcher's request has the group and the network namespace by their slots.
func TestRequest(t *testing.T) {
	v1, v2 := layouts()[3], layouts()[0]
	memory := func(l *spec.Limits) { l.Memory = 1 << 20 }
	for name, c := range map[string]struct {
		in    *input
		into  bool
		ward  bool
		stays bool
	}{
		"no group":         {asked(), false, false, false},
		"version 2":        {grouped(v2, memory), true, false, false},
		"version 1":        {grouped(v1, memory), false, false, false},
		"without init":     {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }), false, true, false},
		"that goes on":     {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }), false, false, true},
		"a pooled network": {asked(prepared, func(_ *spec.Spec, _ *host.Host, m *Mode) { m.Net = true }), false, false, false},
	} {
		p := must.Get(c.in.mode.ResolveChecked(c.in.Spec, c.in.host))(t)
		p.Stays = c.stays
		req := p.Request()
		if (req.Cgroup >= 0) != c.into || req.Ward != c.ward || (req.Netns > 0) != c.in.mode.Net || req.CloneFlags != p.Flags {
			t.Errorf("%s: %+v", name, req)
		}
		if names := p.CloneFlags(); slices.Contains(names, "CLONE_INTO_CGROUP") != c.into || slices.Contains(names, "CLONE_NEWNET") != (p.Flags&unix.CLONE_NEWNET != 0) {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// A jail can keep as many processors busy as it may have, one at least.
func TestProcessors(t *testing.T) {
	for name, c := range map[string]struct {
		machine, set string
		want         int
	}{"all": {"0-3", "", 4}, "a set": {"0-3", "1-2", 2}, "unknown": {"", "", 1}, "holes": {"0,2,5-6", "", 4}} {
		p := &Plan{Spec: &spec.Spec{Limits: spec.Limits{CPUSet: c.set}}, Host: &host.Host{Groups: host.Groups{Cgroup: &cgroup.Layout{CPUs: c.machine}}}}
		same(t, name, p.Processors(), c.want)
	}
}

// The keeper's wall clock is the default where nothing is said, but for a terminal, and none where none is wanted.
func TestWall(t *testing.T) {
	for name, c := range map[string]struct {
		wall spec.Duration
		tty  bool
		want spec.Duration
	}{"default": {0, false, spec.DefaultWall}, "a terminal": {0, true, 0}, "given": {5, false, 5}, "given, with a terminal": {5, true, 5}, "none": {-1, false, 0}} {
		s := &spec.Spec{TTY: c.tty, Limits: spec.Limits{Wall: c.wall}}
		same(t, name, wall(s), c.want)
		p := &Plan{Spec: &spec.Spec{}, Wall: 77, Enforced: map[string]spec.Text{"x": "y"}}
		q := p.For(s)
		if q.Wall != c.want || q.Spec != s || p.Wall != 77 || p.Spec == s || q.Enforced["x"] != "y" {
			t.Errorf("%s: %+v", name, q)
		}
	}
}

// Resolve refuses what Check does; ResolveChecked trusts its caller. Notes of the machine come after the decisions'.
func TestResolve(t *testing.T) {
	if _, err := Resolve(&spec.Spec{}, ordinaryHost()); op(err) != "args" {
		t.Errorf("no command: %v", err)
	}
	in := asked(func(s *spec.Spec, h *host.Host, m *Mode) {
		s.NoInit, h.FilterNotes, h.Partial, m.Note = true, []spec.Text{"of the filter"}, []spec.Text{"not looked at"}, "of the mode"
	})
	p := must.Get(in.mode.ResolveChecked(in.Spec, in.host))(t)
	if n := len(p.Notes); n < 4 || !slices.Equal(p.Notes[n-3:], []spec.Text{"of the filter", "not looked at", "of the mode"}) {
		t.Errorf("%q", p.Notes)
	}
	for mechanism, why := range map[string]string{"user": "off", "seccomp": "none", "proc": "masked"} {
		in := asked(without(mechanism, why))
		if p, err := in.mode.ResolveChecked(in.Spec, in.host); p != nil || op(err) != mechanism {
			t.Errorf("%s: %v", mechanism, err)
		}
	}
}
