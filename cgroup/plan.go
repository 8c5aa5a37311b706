package cgroup

import (
	"slices"
	"strings"
)

// Plan describes how a group is made on this machine. It is data: Steps prints it and Create performs it.
type Plan struct {
	// Branches are the directories of the group: the version 2 one first.
	Branches []Branch
	// Enforced maps each mechanism to the files that hold it.
	Enforced map[string]string
	// Missing maps each mechanism that this machine cannot hold to the reason.
	Missing map[string]string
	// Optional are the mechanisms that Create may give up.
	Optional map[string]bool

	steps []step
}

// Branch is a group's directory in one hierarchy.
type Branch struct {
	Base    string // the parent directory
	Version int
	// Controllers are the version 1 controllers of this hierarchy, or the version 2 controllers that the files need.
	Controllers []string
}

// verb is the kind of a step.
type verb int

const (
	enable  verb = iota // write +controller to Base/cgroup.subtree_control
	makeDir             // mkdir(2)
	inherit             // version 1: copy an empty cpuset.cpus and cpuset.mems from Base: cpuset(7)
	write
)

type step struct {
	verb      verb
	branch    int
	setting   setting
	mechanism []string // the mechanisms lost if the step fails
}

// Resolve decides which files of which hierarchies hold the limits. It reads nothing. Limits that cannot be held are in
// Plan.Missing; the caller decides whether to continue.
func Resolve(want *Limits, l *Layout) *Plan {
	p := &Plan{Enforced: map[string]string{}, Missing: map[string]string{}, Optional: map[string]bool{}}
	r := resolving{Plan: p, layout: l}
	for i := range mechanisms {
		if m := &mechanisms[i]; m.settings != nil {
			v2, v1 := m.settings(want)
			r.limit(m, want, v2, v1)
		}
	}
	for _, f := range want.Files {
		m, value := fileSetting(f)
		r.limit(&m, want, value, value)
	}
	if want.CPUTime {
		r.cpuTime()
	}
	if l.Mode == Hybrid && len(r.writes) > 0 && l.Dir != "" && l.Denied[""] == "" {
		r.branch(l.Dir, 2) // without a limit: for CLONE_INTO_CGROUP, cgroup.kill and cgroup.events
	}
	if p.V2() == 0 && len(r.writes) > 0 && l.Controllers["freezer"] != "" && l.Denied["freezer"] == "" {
		r.branch(l.Controllers["freezer"], 1) // without a limit: it stops the group for Kill
	}
	for m := range p.Missing {
		delete(p.Enforced, m) // a part of its files does not hold the limit
	}
	r.order(l)
	return p
}

type resolving struct {
	*Plan
	layout *Layout
	writes []step
	needed map[string][]string // mechanisms by controller of version 2
	timed  string              // the base of the branch that measures the processor time
}

// limit finds the hierarchy of a mechanism's controller.
func (r *resolving) limit(m *Mechanism, want *Limits, v2, v1 []setting) {
	if len(v2)+len(v1) == 0 {
		return
	}
	if m.implied != nil && m.implied(want) {
		r.Optional[m.Name] = true
	}
	l, legacy := r.layout, m.legacy()
	why := ""
	switch {
	case l.Mode == None:
		why = "no control group is mounted"
	case l.Dir != "" && (m.Controller == "" || slices.Contains(l.Enabled, m.Controller)):
		if why = l.Denied[""]; why == "" {
			r.add(l.Dir, 2, m, v2)
			return
		}
	case m.lacking != "" && l.Mode != V2:
		why = m.lacking
	case l.Controllers[legacy] != "" && l.Denied[legacy] == "":
		r.add(l.Controllers[legacy], 1, m, v1)
		return
	case l.Denied[legacy] != "":
		why = l.Denied[legacy]
	case l.Mode == V2 && l.Denied[""] != "":
		why = l.Denied[""]
	case l.Mode == V2:
		why = "the " + m.Controller + " controller is not available in " + quote(l.Dir)
	default:
		why = "no " + legacy + " controller is mounted"
	}
	if m.Name == cgroupFile {
		why = v2[0].names[0] + ": " + why
	}
	r.Missing[m.Name] = why
}

func (r *resolving) add(base string, version int, m *Mechanism, settings []setting) {
	b := r.branch(base, version)
	if version == 2 && m.Controller != "" {
		r.need(b, m.Controller, m.Name)
	}
	var texts []string
	for _, s := range settings {
		texts = append(texts, s.names[0]+"="+printable(s.value))
		r.writes = append(r.writes, step{write, b, s, []string{m.Name}})
	}
	if len(settings) == 0 {
		texts = append(texts, m.within)
	}
	text := version1or2(version) + " " + strings.Join(texts, ", ")
	if had := r.Enforced[m.Name]; had != "" { // several files of --cgroup
		text = had + ", " + text
	}
	r.Enforced[m.Name] = text
}

func version1or2(v int) string {
	if v == 2 {
		return "cgroup2"
	}
	return "cgroup1"
}

// cpuTime needs no controller: every version 2 group has a cpu.stat, since Linux 4.15.
func (r *resolving) cpuTime() {
	l := r.layout
	switch {
	case l.Dir != "" && l.Denied[""] == "" && l.Mode != V1:
		r.timed = l.Dir
		r.branch(r.timed, 2)
		r.Enforced["cpu_time"] = "cgroup2 cpu.stat"
	case l.Controllers["cpuacct"] != "" && l.Denied["cpuacct"] == "":
		r.timed = l.Controllers["cpuacct"]
		r.branch(r.timed, 1)
		r.Enforced["cpu_time"] = "cgroup1 cpuacct.usage"
	case l.Mode == None:
		r.Missing["cpu_time"] = "no control group is mounted"
	case l.Denied[""] != "":
		r.Missing["cpu_time"] = l.Denied[""]
	case l.Denied["cpuacct"] != "":
		r.Missing["cpu_time"] = l.Denied["cpuacct"]
	default:
		r.Missing["cpu_time"] = "neither cpuacct nor a version 2 tree is mounted"
	}
}

// branch returns the index of a base's branch, and adds a missing one.
func (r *resolving) branch(base string, version int) int {
	for i := range r.Branches {
		if r.Branches[i].Base == base {
			return i
		}
	}
	r.Branches = append(r.Branches, Branch{Base: base, Version: version})
	return len(r.Branches) - 1
}

func (r *resolving) need(branch int, controller, mechanism string) {
	b := &r.Branches[branch]
	if !slices.Contains(b.Controllers, controller) {
		b.Controllers = append(b.Controllers, controller)
	}
	if r.needed == nil {
		r.needed = map[string][]string{}
	}
	r.needed[controller] = append(r.needed[controller], mechanism)
}

// order builds the list of steps: version 2 first, then the hierarchies of version 1 sorted by their directories.
func (r *resolving) order(l *Layout) {
	place := make([]int, len(r.Branches))
	for i := range place {
		place[i] = i
	}
	slices.SortStableFunc(place, func(a, b int) int {
		x, y := r.Branches[a], r.Branches[b]
		if x.Version != y.Version {
			return y.Version - x.Version
		}
		return strings.Compare(x.Base, y.Base)
	})
	sorted := make([]Branch, len(place))
	for to, from := range place {
		sorted[to] = r.Branches[from]
		b := &sorted[to]
		if b.Version == 1 {
			b.Controllers = at(l.Controllers, b.Base)
		}
		for _, c := range b.Controllers {
			if b.Version == 2 && !slices.Contains(l.Subtree, c) {
				r.steps = append(r.steps, step{enable, to, set("cgroup.subtree_control", "+"+c), r.needed[c]})
			}
		}
		lost := r.mechanismsOf(from)
		r.steps = append(r.steps, step{verb: makeDir, branch: to, mechanism: lost})
		if b.Version == 1 && slices.Contains(b.Controllers, "cpuset") {
			r.steps = append(r.steps, step{verb: inherit, branch: to, mechanism: lost})
		}
		for _, w := range r.writes {
			if w.branch == from {
				w.branch = to
				r.steps = append(r.steps, w)
			}
		}
	}
	r.Branches = sorted
}

// mechanismsOf returns the mechanisms that are lost without a branch.
func (r *resolving) mechanismsOf(branch int) (list []string) {
	for _, w := range r.writes {
		if w.branch == branch && !slices.Contains(list, w.mechanism[0]) {
			list = append(list, w.mechanism[0])
		}
	}
	if r.timed != "" && r.Branches[branch].Base == r.timed {
		list = append(list, "cpu_time")
	}
	return list
}

// at returns the controllers of version 1 that share a directory's hierarchy.
func at(controllers map[string]string, dir string) (list []string) {
	for _, c := range sortedKeys(controllers) {
		if controllers[c] == dir {
			list = append(list, c)
		}
	}
	return list
}
