package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/golden"
)

// modes are the shapes of all ways in which a jail is made.
var modes = []struct {
	name string
	shape
}{
	{"cold", shape{}},
	{"cold, without init", shape{noInit: true}},
	{"cold, with an image", shape{image: true}},
	{"early", shape{ahead: true}},
	{"early, leaving the host's tree", shape{ahead: true, leaves: true}},
	{"early, without init", shape{ahead: true, noInit: true}},
	{"early, with an image", shape{ahead: true, image: true}},
	{"cold, without namespaces", shape{noNamespaces: true}},
	{"Runner, side by side", shape{prepared: true, side: true, makesNet: true, filterFirst: true}},
	{"Runner, side by side with a pool", shape{prepared: true, side: true, filterFirst: true}},
	{"Runner, in turn", shape{prepared: true, filterFirst: true}},
	{"Runner, with a filter of the caller's", shape{prepared: true}},
	{"Runner, with the caller's mounts", shape{prepared: true, mountsLater: true}},
	{"Runner, side by side with an image", shape{prepared: true, side: true, makesNet: true, image: true, filterFirst: true}},
	{"Runner, in turn with an image", shape{prepared: true, image: true}},
	{"cold, with a label", shape{labelled: true}},
	{"Runner, side by side with a label", shape{prepared: true, side: true, makesNet: true, filterFirst: true, labelled: true}},
	{"Runner, side by side with a pool and a label", shape{prepared: true, side: true, filterFirst: true, labelled: true}},
	{"Runner, with the caller's mounts and a label", shape{prepared: true, mountsLater: true, labelled: true}},
	{"Runner, without init", shape{prepared: true, noInit: true, filterFirst: true}},
	{"Runner, without init, with the caller's mounts", shape{prepared: true, noInit: true, mountsLater: true}},
}

// boxes are those of boxes, in which no payload is made.
var boxes = []struct {
	name string
	shape
}{
	{"a box, cold", shape{box: true}},
	{"a box, early", shape{box: true, ahead: true}},
	{"a box of a Runner", shape{box: true, prepared: true}},
	{"a box of a Runner, with the caller's mounts", shape{box: true, prepared: true, mountsLater: true}},
	{"a box of a Runner, with an image", shape{box: true, prepared: true, image: true}},
}

// outline is a sequence as the golden file has it.
func (o *sequence) outline() string {
	var b strings.Builder
	part := func(name string, steps []step) {
		fmt.Fprintf(&b, "%s\n", name)
		for _, p := range []process{firstProcess, initProcess, payloadProcess} {
			var names []string
			for _, st := range steps {
				if st.by != p {
					continue
				}
				name := st.name
				if st.join > 0 {
					name = fmt.Sprintf("(join %d) %s", st.join, name)
				}
				if st.post {
					name += " (post)"
				}
				names = append(names, name)
			}
			if names != nil {
				fmt.Fprintf(&b, "  %s: %s\n", []string{"first", "init", "payload"}[p], strings.Join(names, ", "))
			}
		}
	}
	part("prefix", o.prefix)
	part("suffix", o.suffix)
	return b.String()
}

// The golden file shows what each process does in each mode.
func TestOrders(t *testing.T) {
	var b strings.Builder
	for _, m := range slices.Concat(modes, boxes) {
		o := derive(&m.shape)
		fmt.Fprintf(&b, "# %s\n%s\n", m.name, o.outline())
	}
	golden.File(t, "../../../testdata/order.golden", b.String())
}

// Each phase has a name of its own, and stands below those that it needs.
func TestPhases(t *testing.T) {
	seen := map[string]bool{}
	for i := range phases {
		ph := &phases[i]
		for _, need := range ph.needs {
			if !seen[need] {
				t.Errorf("%s needs %q, which does not come before it", ph.name, need)
			}
		}
		if seen[ph.name] || ph.write == nil || i >= 64 { // late has 64 bits
			t.Errorf("phase %d: %q", i, ph.name)
		}
		seen[ph.name] = true
	}
}

// happened returns the steps that are over, in any order of events, when the step at of a sequence begins: what its
// process or one before the fork has done, and what of init's it has waited for.
func happened(steps []step, at int) (done []step) {
	joined := 0
	for _, st := range steps[:at+1] {
		if st.by == steps[at].by {
			joined = max(joined, st.join)
		}
	}
	posts := 0
	for i, st := range steps[:at] {
		switch {
		case st.by == firstProcess, st.by == steps[at].by:
			done = append(done, st)
		case steps[at].by == payloadProcess && posts < joined: // init's
			done = append(done, st)
		}
		last := st.by == initProcess && (i+1 == len(steps) || steps[i+1].by != initProcess)
		if st.post || last {
			posts++
		}
	}
	return done
}

// A box is complete, and its init has no privilege, before init serves.
func TestEveryBoxIsClosed(t *testing.T) {
	for _, m := range boxes {
		o := derive(&m.shape)
		all := slices.Concat(o.prefix, o.suffix)
		at := slices.IndexFunc(all, func(st step) bool { return st.name == "serve" })
		if at != len(all)-1 {
			t.Errorf("%s: init does not serve at the end\n%s", m.name, o.outline())
			continue
		}
		done := happened(all, at)
		for _, name := range []string{"capabilities", "seal", "pivot", "mounts", "bounding set", "hide init", "ruleset"} {
			if !slices.ContainsFunc(done, func(st step) bool { return st.name == name }) {
				t.Errorf("%s: init serves before %s\n%s", m.name, name, o.outline())
			}
		}
	}
}

// The invariants of a jail hold in every mode.
func TestEveryOrderHoldsTheLaws(t *testing.T) {
	for _, m := range modes {
		o := derive(&m.shape)
		all := slices.Concat(o.prefix, o.suffix)
		find := func(name string, by process) int {
			return slices.IndexFunc(all, func(st step) bool { return st.name == name && st.by == by })
		}
		wants := func(why string, ok bool) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s\n%s", m.name, why, o.outline())
			}
		}
		child := payloadProcess
		if m.noInit {
			child = firstProcess
		}
		for i := range phases {
			ph := &phases[i]
			want, got := 1, 0
			if ph.in != nil && !ph.in(&m.shape) {
				want = 0
			} else if ph.by == each && m.side {
				want = 2
			}
			for _, st := range all {
				if st.phase == ph {
					got++
				}
			}
			wants(ph.name+" is not there once", got == want)
		}
		for at, st := range all {
			done := happened(all, at)
			for _, need := range st.needs {
				ours := slices.ContainsFunc(done, func(d step) bool { return d.name == need })
				mode := slices.ContainsFunc(all, func(d step) bool { return d.name == need })
				alone := st.phase.by == each || st.name == "fork" || st.name == "filter"
				wants(st.name+" comes before "+need, ours || !mode || alone && m.side)
			}
		}
		last := len(all) - 1
		wants("the command is not last", all[last].name == "command" && all[last].by == child)
		done := happened(all, last)
		pivot := map[bool]string{true: "early pivot", false: "pivot"}[m.leaves]
		before := []string{"capabilities", "seal", pivot, "mounts", "filter", "landlock", "bounding set"}
		if m.noNamespaces { // init's kill(-1) must not leave the jail
			before = []string{"privileges", "children", "init's domain", "filter", "landlock", "payload session"}
			wants("capabilities are not dropped first", all[0].name == "privileges")
			wants("there is a child before init's domain", find("init's domain", firstProcess) < find("fork", firstProcess))
		}
		for _, name := range before {
			wants("the command comes before "+name, slices.ContainsFunc(done, func(st step) bool { return st.name == name }))
		}
		files := "mounts"
		if m.image {
			files = "root"
		}
		for at, st := range all {
			in := slices.ContainsFunc(happened(all, at), func(d step) bool { return strings.HasSuffix(d.name, "group") })
			wants("the caller's files are mounted outside the group", in || st.name != files)
		}
		for at, st := range all {
			if st.phase.by != each && at > find("capabilities", st.by) && find("capabilities", st.by) >= 0 {
				wants(st.name+" has no capabilities any more", slices.Contains([]string{"init is done", "fork",
					"payload session", "label", "streams", "limits", "workdir", "descriptors", "processes", "landlock", "filter",
					"command"}, st.name))
			}
			if m.filterFirst && at > find("filter", child) {
				wants(st.name+" is not permitted", slices.Contains([]string{"streams", "limits", "workdir", "descriptors",
					"processes", "landlock", "command"}, st.name))
			}
		}
		wants("the filter is too early", m.filterFirst || find("filter", child) == last-1)
		for _, st := range o.prefix {
			wants(st.name+" is the run's", st.known != withRun && (st.known != withMounts || !m.mountsLater))
		}
	}
}
