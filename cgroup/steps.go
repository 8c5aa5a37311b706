package cgroup

import "path"

// Name stands for a group's own name in Steps.
const Name = "brig-PID-N"

// Steps is what Create does, one line each.
func (p *Plan) Steps() []string {
	lines := make([]string, len(p.steps))
	for i := range p.steps {
		lines[i] = p.text(&p.steps[i], Name)
	}
	return lines
}

// text is a step as it is printed and as errors name it.
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
