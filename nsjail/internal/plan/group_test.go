package plan

import (
	"strings"
	"testing"

	"brig/cgroup"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// grouped puts a Spec on an invented machine.
func grouped(l layout, set func(*spec.Limits), changes ...func(*spec.Spec, *host.Host, *Mode)) *input {
	s := &spec.Spec{Args: []string{"id"}}
	set(&s.Limits)
	in := &input{s, l.host(s), &Mode{}}
	for _, change := range changes {
		change(in.Spec, in.host, in.mode)
	}
	return in
}

// The remedy is what helps on this machine, and tells how to do without.
func TestGroupRemedy(t *testing.T) {
	on := func(l cgroup.Layout) *cgroup.Layout {
		if l.Mode == "" {
			l.Mode = cgroup.V2
		}
		return &l
	}
	root := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.UID = 0 }
	named := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.CgroupParent = "/mine" }
	for name, c := range map[string]struct {
		in   *input
		l    *cgroup.Layout
		why  spec.Text
		want string
	}{
		"nothing is mounted":      {asked(), on(cgroup.Layout{Mode: cgroup.None}), "", "mount one (mount -t cgroup2 cgroup2 /sys/fs/cgroup)"},
		"version 1 cannot":        {asked(), on(cgroup.Layout{Mode: cgroup.V1}), "version 1 has none", "use a machine with version 2 of control groups"},
		"a controller is missing": {asked(), on(cgroup.Layout{}), "the controller", "enable that controller"},
		"another's group":         {asked(named), on(cgroup.Layout{Why: "not yours"}), "", "name a group that exists and is yours"},
		"in a container":          {asked(), on(cgroup.Layout{Why: "it is read-only"}), "", "give the outer container a writable /sys/fs/cgroup"},
		"root of systemd":         {asked(root), on(cgroup.Layout{Why: "no", Systemd: true}), "", "start it with systemd-run --scope -p Delegate=yes"},
		"a user of systemd":       {asked(), on(cgroup.Layout{Why: "no", Systemd: true}), "", "start it with systemd-run --user --scope -p Delegate=yes"},
		"root":                    {asked(root), on(cgroup.Layout{Why: "no"}), "", "start brig in a group that it may write to"},
		"a user":                  {asked(), on(cgroup.Layout{Why: "no"}), "", "have root give you groups of your own: "},
	} {
		got := groupRemedy(c.in, c.l, "memory", c.why).String()
		if !strings.Contains(got, c.want) || !strings.Contains(got, spec.Without("memory").String()) {
			t.Errorf("%s: %s", name, got)
		}
		if scope := strings.Contains(got, "systemd_scope"); scope != c.l.Systemd {
			t.Errorf("%s: it names the scope: %v", name, scope)
		}
	}
}

// What no group can hold is an error about that limit, unless the Spec can do without it or something else holds it.
func TestDecideGroupWithoutGroups(t *testing.T) {
	none := layouts()[4]
	memory := func(l *spec.Limits) { l.Memory = 64 << 20 }
	optional := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Optional = []string{"memory"} }
	clock := func(l *spec.Limits) { l.CPUTime = 1500e6 }
	for name, c := range map[string]struct {
		in    *input
		text  map[string]string // of a mechanism
		op    string
		clock bool
	}{
		"memory":                  {grouped(none, memory), nil, "limits.memory", true},
		"memory, and without":     {grouped(none, memory, optional), map[string]string{"memory": "not enforced: no control group is mounted (optional)", "memory_sockets": "not enforced (", "memory_swap": ""}, "", true},
		"processor time":          {grouped(none, clock), map[string]string{"cpu_time": "RLIMIT_CPU 2s for each process by itself (no control group is mounted)"}, "", false},
		"and it is required":      {grouped(none, clock, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"cpu_time"} }), nil, "limits.cpu_time", true},
		"files of a group":        {grouped(none, func(l *spec.Limits) { l.Cgroup = []string{"cpu.idle=1"} }), nil, "limits.cgroup", true},
		"a parent":                {grouped(none, func(*spec.Limits) {}, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.CgroupParent = "/p" }), nil, "cgroup_parent", true},
		"no layout was looked at": {grouped(none, memory, func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Cgroup = nil }), nil, "limits.memory", true},
	} {
		out := newReport()
		g := decideGroup(c.in, &out)
		if g.plan != nil || op(out.err) != c.op || g.clock != c.clock {
			t.Errorf("%s: plan %v, clock %v, %v", name, g.plan != nil, g.clock, out.err)
		}
		for mechanism, want := range c.text {
			if got := out.enforced[mechanism].String(); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
				t.Errorf("%s: %s: %q", name, mechanism, got)
			}
		}
	}
}

// A group holds what it is asked for, in the words of what holds it.
func TestDecideGroup(t *testing.T) {
	v2, v1 := layouts()[0], layouts()[3]
	for name, c := range map[string]struct {
		in        *input
		mechanism string
		want      string
		processes bool
		notes     int
	}{
		"processes": {grouped(v2, func(l *spec.Limits) { l.Memory = 1 << 20 }), "processes", "cgroup2 pids.max=1025 (init is one of them)", true, 1},
		"processes, without init": {grouped(v2, func(l *spec.Limits) { l.Memory = 1 << 20 }, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }),
			"processes", "cgroup2 pids.max=1024", true, 1},
		"the caller's own":  {grouped(v2, func(l *spec.Limits) { l.Cgroup = []string{"pids.max=9"} }), "cgroup_file", "cgroup2 pids.max=9", false, 0},
		"time":              {grouped(v2, func(l *spec.Limits) { l.CPUTime = 1500e6 }), "cpu_time", "1.5s by ", true, 0},
		"disks":             {grouped(v1, func(l *spec.Limits) { l.IO = []spec.IOLimit{{Path: "/dev/sda", WriteBps: 1}} }), "io", "cgroup1 ", true, 0},
		"the implied swap":  {grouped(v2, func(l *spec.Limits) { l.Memory = 1 << 20 }), "memory_swap", "cgroup2 memory.swap.max=0", true, 1},
		"swap as asked for": {grouped(v2, func(l *spec.Limits) { l.Memory, l.MemorySwap = 1<<20, 3<<20 }), "memory_swap", "cgroup2 memory.swap.max", true, 1},
	} {
		out := newReport()
		g := decideGroup(c.in, &out)
		if got := out.enforced[c.mechanism].String(); g.plan == nil || !strings.HasPrefix(got, c.want) || g.processes != c.processes || len(out.notes) != c.notes {
			t.Errorf("%s: %q, processes %v, notes %q, %v", name, got, g.processes, out.notes, out.err)
		}
	}
	out := newReport()
	if decideGroup(grouped(v1, func(l *spec.Limits) { l.IO = []spec.IOLimit{{Path: "/dev/sda", WriteBps: 1}} }), &out); !strings.Contains(out.enforced["io"].String(), "page cache") {
		t.Errorf("version 1 does not see all: %q", out.enforced["io"])
	}
}

// A machine that cannot limit swap is told of, unless it has none. Without a limit on memory none on swap is implied.
func TestImpliedSwap(t *testing.T) {
	for name, c := range map[string]struct {
		missing map[string]string
		swap    bool
		want    spec.Text
	}{
		"held":              {nil, true, "memory.swap.max 0"},
		"no swap here":      {map[string]string{"memory_swap": "no file"}, false, "this machine has no swap"},
		"it cannot":         {map[string]string{"memory_swap": "no file"}, true, "not enforced: no file"},
		"no memory, either": {map[string]string{"memory_swap": "no file", "memory": "none"}, true, ""},
	} {
		out := newReport()
		p := &cgroup.Plan{Enforced: map[string]string{"memory_swap": "memory.swap.max 0"}, Missing: c.missing}
		impliedSwap(p, &cgroup.Layout{Swap: c.swap}, &out)
		same(t, name, out.enforced["memory_swap"], c.want)
	}
}

// Processors and memory nodes that a jail may not have are an error: version 2 would take others.
func TestAvailable(t *testing.T) {
	for name, c := range map[string]struct {
		want, have, missing string
	}{
		"these":           {"0-1", "0-3", ""},
		"none asked for":  {"", "0-3", ""},
		"unknown":         {"7", "", ""},
		"one is missing":  {"3-4", "0-3", "4"},
		"none of them":    {"9", "0,2", "9"},
		"above the first": {"0-2", "0,2", "1"},
	} {
		out := newReport()
		available("limits.cpuset", c.want, c.have, "processors", &out)
		text := message(out.err)
		if (text == "") != (c.missing == "") || c.missing != "" && (op(out.err) != "limits.cpuset" || !strings.Contains(text, c.missing+" is not among the processors") || !strings.Contains(text, c.have)) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What no group counts is told, and more of it where the payload may make network namespaces.
func TestUncounted(t *testing.T) {
	const netlink = "netlink"
	for name, c := range map[string]struct {
		in      *input
		netlink bool
	}{
		"filtered":           {asked(), false},
		"unconfined":         {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "unconfined" }), true},
		"a profile":          {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "/p.json" }), true},
		"no filter here":     {asked(without("seccomp", "no")), true},
		"the host's network": {asked(func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = spec.NetHost }), true},
	} {
		if note := uncounted(c.in.Spec, c.in.host); strings.Contains(note, netlink) != c.netlink || !strings.Contains(note, "machine code") {
			t.Errorf("%s: %s", name, note)
		}
	}
}

// Package ordered plans the rest of what Bounds plans.
func TestBounds(t *testing.T) {
	in := grouped(layouts()[0], func(l *spec.Limits) { l.Memory = 1 << 20 }, func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Net = spec.NetEgress })
	p, err := Bounds(in.Spec, in.host)
	if err != nil || p.Group == nil || p.Sockets == nil || p.Enforced["memory"] == "" || p.Jail != nil {
		t.Errorf("%+v, %v", p, err)
	}
	in = grouped(layouts()[4], func(l *spec.Limits) { l.Memory = 1 << 20 })
	if _, err := Bounds(in.Spec, in.host); op(err) != "limits.memory" {
		t.Errorf("%v", err)
	}
	if name := GroupPath("memory_high"); name != "limits.memory_high" || GroupPath("cgroup_file") != "limits.cgroup" {
		t.Error(name)
	}
}
