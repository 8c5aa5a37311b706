package plan

import (
	"slices"
	"strings"
	"testing"

	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// limit returns the limits of a name in a list.
func limit(list []rlimit, name string) (found []spec.Rlimit) {
	for _, l := range list {
		if l.name == name {
			found = append(found, l.Rlimit)
		}
	}
	return found
}

func TestDecideRlimits(t *testing.T) {
	set := func(name string, soft, hard int64) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) {
			s.Limits.Rlimits = map[string]spec.Rlimit{name: {Soft: soft, Hard: hard}}
		}
	}
	callers := func(name string, hard int64) func(*spec.Spec, *host.Host, *Mode) {
		return func(_ *spec.Spec, h *host.Host, _ *Mode) { h.HardLimits[name] = hard }
	}
	cpu := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Limits.CPUTime = 1500e6 }
	files := spec.DefaultRlimits["nofile"]
	for name, c := range map[string]struct {
		in    *input
		limit string
		want  []spec.Rlimit
		op    string
	}{
		"the default":             {asked(), "nofile", []spec.Rlimit{files}, ""},
		"root's, of its own user": {asked(called), "nofile", []spec.Rlimit{spec.OwnFiles}, ""},
		"the caller has less":     {asked(callers("nofile", 100)), "nofile", []spec.Rlimit{{Soft: 100, Hard: 100}}, ""},
		"as given":                {asked(set("fsize", 5, 6)), "fsize", []spec.Rlimit{{Soft: 5, Hard: 6}}, ""},
		"more than the caller":    {asked(set("fsize", 5, 6), callers("fsize", 4)), "fsize", []spec.Rlimit{{Soft: 4, Hard: 4}}, "limits.rlimits.fsize"},
		"core is the filter's":    {asked(), "core", nil, ""},
		"processor time":          {asked(cpu), "cpu", []spec.Rlimit{{Soft: 2, Hard: 3}}, ""},
		"too little of it":        {asked(cpu, callers("cpu", 1)), "cpu", []spec.Rlimit{{Soft: 2, Hard: 3}}, "limits.cpu_time"},
	} {
		out := newReport()
		list := decideRlimits(c.in, &group{}, &out)
		same(t, name, limit(list, c.limit), c.want)
		same(t, name+", error", op(out.err), c.op)
	}
	out := newReport()
	behind := decideRlimits(asked(cpu), &group{clock: true}, &out)
	same(t, "the keeper's clock comes first", limit(behind, "cpu"), []spec.Rlimit{{Soft: 3, Hard: 4}})
	again := decideRlimits(asked(), &group{}, &out)
	if names := make([]string, 0, len(again)); !slices.IsSortedFunc(again, func(a, b rlimit) int { return strings.Compare(a.name, b.name) }) {
		t.Errorf("the order of the limits changes: %v", names)
	}
}

// A soft limit of 0 on core dumps would start the host's helper.
func TestDecideCore(t *testing.T) {
	for name, c := range map[string]struct {
		hard, soft int64
	}{"unlimited": {-1, 1}, "some": {4096, 1}, "none": {0, 0}} {
		in := asked(func(_ *spec.Spec, h *host.Host, _ *Mode) { h.HardLimits["core"] = c.hard })
		out := newReport()
		if l := decideRlimit(in, "core", 4, &out); len(l) != 1 || l[0].Soft != c.soft {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestDecideProcesses(t *testing.T) {
	most := func(n int64) func(*spec.Spec, *host.Host, *Mode) {
		return func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Limits.Processes = n }
	}
	old := func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Kernel = host.Kernel{Major: 5, Minor: 13} }
	alone := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.NoInit = true }
	must := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Require = []string{"processes"} }
	own := func(s *spec.Spec, _ *host.Host, _ *Mode) {
		s.Limits.Rlimits = map[string]spec.Rlimit{"nproc": {Soft: 7, Hard: 7}}
	}
	for name, c := range map[string]struct {
		in       *input
		counted  bool
		want     int64 // 0 for none
		text, op string
	}{
		"with init":         {asked(most(10)), false, 11, "RLIMIT_NPROC 10 in the user namespace", ""},
		"without init":      {asked(most(10), alone), false, 10, "RLIMIT_NPROC 10 in the user namespace", ""},
		"behind a group":    {asked(most(10)), true, 22, "", ""},
		"no limit":          {asked(most(-1)), false, 0, "not enforced: no limit was asked for", ""},
		"a required one":    {asked(most(-1), must), false, 0, "", "limits.processes"},
		"as given":          {asked(own), false, 0, "RLIMIT_NPROC as given", ""},
		"an old kernel":     {asked(most(10), old), false, 0, "", "processes"},
		"old with a group":  {asked(most(10), old), true, 0, "", ""},
		"in the process's":  {asked(inTier, most(10), func(_ *spec.Spec, h *host.Host, _ *Mode) { h.Tasks = 5 }), false, 17, "RLIMIT_NPROC 17, of all processes of uid 1000: 10 more than at the start", ""},
		"the caller's less": {asked(most(10), func(_ *spec.Spec, h *host.Host, _ *Mode) { h.HardLimits["nproc"] = 4 }), false, 4, "RLIMIT_NPROC 3 in the user namespace", ""},
	} {
		out := newReport()
		list := decideProcesses(c.in, &group{processes: c.counted}, &out)
		want := []spec.Rlimit(nil)
		if c.want > 0 {
			want = []spec.Rlimit{{Soft: c.want, Hard: c.want}}
		}
		same(t, name, limit(list, "nproc"), want)
		same(t, name+", told", []string{out.enforced["processes"].String(), op(out.err)}, []string{c.text, c.op})
	}
}

// A payload that owns the files of its group could lift its limits, unless a filter of brig's keeps it from that.
func TestKeepLimits(t *testing.T) {
	limited := func(s *spec.Spec, h *host.Host, _ *Mode) {
		s.Limits.Memory, s.Limits.Processes = 64<<20, 8
		all := layouts()[0]
		machine := all.host(s)
		h.Cgroup = machine.Cgroup
	}
	open := func(s *spec.Spec, _ *host.Host, _ *Mode) { s.Seccomp = "unconfined" }
	for name, c := range map[string]struct {
		in       *input
		closed   bool
		notes    int
		op, held string
	}{
		"filtered":           {asked(limited), true, 1, "", "cgroup2"},
		"unconfined":         {asked(limited, open), true, 2, "", "cgroup2"},
		"root's payload":     {asked(limited, open, called), false, 1, "", "cgroup2"},
		"without a procfs":   {asked(limited, open, without("proc", "masked")), true, 2, "seccomp", "cgroup2"},
		"without any limits": {asked(open), false, 0, "", ""},
	} {
		out := newReport()
		g := decideGroup(c.in, &out)
		g.keepLimits(c.in, &out)
		if g.owned(c.in.host) != c.closed || len(out.notes) != c.notes || op(out.err) != c.op || !strings.HasPrefix(out.enforced["memory"].String(), c.held) {
			t.Errorf("%s: owned %v, notes %q, error %v, memory %q", name, g.owned(c.in.host), out.notes, out.err, out.enforced["memory"])
		}
	}
}

// The slots of a group's descriptors are its own, in the order of the branches.
func TestIntake(t *testing.T) {
	fds := newIntake()
	first := fds.slots(3)
	mount := fds.pass(Passed{})
	fds.suffix = true
	later := fds.pass(Passed{Source: host.SourceOf(1)})
	if mount != first+3 || later != mount+1 || !fds.passed[0].InPrefix || fds.passed[1].InPrefix || fds.passed[1].Source.Mount != 1 {
		t.Errorf("%d, %d, %d: %+v", first, mount, later, fds.passed)
	}
}
