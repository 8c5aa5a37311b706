package cgroup

import (
	"cmp"
	"fmt"
	"maps"
	"path"
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
	r := resolving{Plan: p, layout: l, writes: map[string][]step{}, serves: map[string][]string{},
		needed: map[string][]string{}}
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
	if p.V2() == 0 && len(p.Branches) > 0 { // without a limit: to stop the group for Kill, and for NeedsSweep
		if l.Controllers["freezer"] != "" && l.Denied["freezer"] == "" {
			r.branch(l.Controllers["freezer"], 1)
		} else if l.Dir != "" && l.Denied[""] == "" {
			r.branch(l.Dir, 2)
		}
	}
	if acct := l.Controllers["cpuacct"]; p.V2() == 0 && len(p.Branches) > 0 && acct != "" && l.Denied["cpuacct"] == "" {
		r.branch(acct, 1) // without a limit, too: it counts the processor time of the group
	}
	for m := range p.Missing {
		delete(p.Enforced, m) // the limit needs all of its files
	}
	r.order()
	return p
}

type resolving struct {
	*Plan
	layout *Layout
	writes map[string][]step   // by the base of their branch
	serves map[string][]string // the mechanisms that are lost without a branch, by its base
	needed map[string][]string // mechanisms by controller of version 2
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
		if !slices.Contains(b.Controllers, m.Controller) {
			b.Controllers = append(b.Controllers, m.Controller)
		}
		r.needed[m.Controller] = append(r.needed[m.Controller], m.Name)
	}
	var texts []string
	for _, s := range settings {
		texts = append(texts, s.names[0]+"="+printable(s.value))
		r.writes[base] = append(r.writes[base], step{write, 0, s, []string{m.Name}})
		r.serve(base, m.Name)
	}
	if len(settings) == 0 {
		texts = append(texts, m.within)
	}
	text := fmt.Sprintf("cgroup%d %s", version, strings.Join(texts, ", "))
	if had := r.Enforced[m.Name]; had != "" { // several files of --cgroup
		text = had + ", " + text
	}
	r.Enforced[m.Name] = text
}

func (r *resolving) serve(base, mechanism string) {
	if !slices.Contains(r.serves[base], mechanism) {
		r.serves[base] = append(r.serves[base], mechanism)
	}
}

// cpuTime needs no controller: every version 2 group has a cpu.stat, since Linux 4.15.
func (r *resolving) cpuTime() {
	l, base := r.layout, ""
	switch {
	case l.Controllers["cpuacct"] != "" && l.Denied["cpuacct"] == "":
		base = l.Controllers["cpuacct"]
		r.branch(base, 1)
		r.Enforced["cpu_time"] = "cgroup1 cpuacct.usage"
	case l.Dir != "" && l.Denied[""] == "":
		base = l.Dir
		r.branch(base, 2)
		r.Enforced["cpu_time"] = "cgroup2 cpu.stat"
	case l.Mode == None:
		r.Missing["cpu_time"] = "no control group is mounted"
		return
	default:
		r.Missing["cpu_time"] = cmp.Or(l.Denied[""], l.Denied["cpuacct"],
			"neither cpuacct nor a version 2 tree is mounted")
		return
	}
	r.serve(base, "cpu_time")
}

// branch returns a base's branch, and adds a missing one.
func (r *resolving) branch(base string, version int) *Branch {
	i := slices.IndexFunc(r.Branches, func(b Branch) bool { return b.Base == base })
	if i < 0 {
		i = len(r.Branches)
		r.Branches = append(r.Branches, Branch{Base: base, Version: version})
	}
	return &r.Branches[i]
}

// order builds the list of steps: version 2 first, then the freezer, then the other hierarchies of version 1 sorted by
// their directories. Remove and Sweep proceed from the last to the first, so that NeedsSweep finds any group by its
// first directory.
func (r *resolving) order() {
	others := func(b *Branch) int {
		if b.Version == 1 && b.Base != r.layout.Controllers["freezer"] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(r.Branches, func(a, b Branch) int {
		return cmp.Or(b.Version-a.Version, others(&a)-others(&b), strings.Compare(a.Base, b.Base))
	})
	for i := range r.Branches {
		b := &r.Branches[i]
		if b.Version == 1 {
			b.Controllers = at(r.layout.Controllers, b.Base)
		}
		for _, c := range b.Controllers {
			if b.Version == 2 && !slices.Contains(r.layout.Subtree, c) {
				r.steps = append(r.steps, step{enable, i, set("cgroup.subtree_control", "+"+c), r.needed[c]})
			}
		}
		r.steps = append(r.steps, step{verb: makeDir, branch: i, mechanism: r.serves[b.Base]})
		if b.Version == 1 && slices.Contains(b.Controllers, "cpuset") {
			r.steps = append(r.steps, step{verb: inherit, branch: i, mechanism: r.serves[b.Base]})
		}
		for _, w := range r.writes[b.Base] {
			w.branch = i
			r.steps = append(r.steps, w)
		}
	}
}

// at returns the controllers of version 1 that share a directory's hierarchy.
func at(controllers map[string]string, dir string) (list []string) {
	for _, c := range slices.Sorted(maps.Keys(controllers)) {
		if controllers[c] == dir {
			list = append(list, c)
		}
	}
	return list
}

// nameInSteps is the placeholder of a group's name in Steps.
const nameInSteps = "brig-PID-N"

// Steps returns what Create does, a line for each step.
func (p *Plan) Steps() []string {
	lines := make([]string, len(p.steps))
	for i := range p.steps {
		lines[i] = p.text(&p.steps[i], nameInSteps)
	}
	return lines
}

// text returns a step as plans and errors show it.
func (p *Plan) text(s *step, name string) string {
	base := p.Branches[s.branch].Base
	dir := path.Join(base, name)
	switch s.verb {
	case enable:
		return "write " + s.setting.value + " to " + quote(path.Join(base, s.setting.names[0]))
	case makeDir:
		return "mkdir " + quote(dir)
	case inherit:
		return "copy cpuset.cpus and cpuset.mems of " + quote(base) + " to " + quote(dir) + " where they are empty"
	}
	return "write " + quote(s.setting.value) + " to " + quote(path.Join(dir, s.setting.names[0]))
}

// V2 returns 1 if the plan has a version 2 directory, else 0.
func (p *Plan) V2() int { return len(p.Branches) - len(p.V1Joins()) }

// V1Joins returns the version 1 hierarchies that a process has to join by itself.
func (p *Plan) V1Joins() (bases []string) {
	for _, b := range p.Branches {
		if b.Version == 1 {
			bases = append(bases, b.Base)
		}
	}
	return bases
}

// mayLose reports whether every mechanism that a step serves is optional. A version 2 directory beside version 1's, and
// a freezer, serve none.
func (p *Plan) mayLose(s *step) bool {
	return !slices.ContainsFunc(s.mechanism, func(m string) bool { return !p.Optional[m] })
}
