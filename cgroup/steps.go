package cgroup

import "path"

// Name is the placeholder of a group's name in Steps.
const Name = "brig-PID-N"

// Steps returns what Create does, a line for each step.
func (p *Plan) Steps() []string {
	lines := make([]string, len(p.steps))
	for i := range p.steps {
		lines[i] = p.text(&p.steps[i], Name)
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
