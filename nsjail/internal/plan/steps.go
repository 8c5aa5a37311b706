package plan

import "brig/internal/program"

// Step is one operation of a plan, for printing.
type Step struct {
	N     int    `json:"n"`
	Label string `json:"label"`
	Call  string `json:"call"`
}

// Steps returns the operations of the launcher (only for root) and of the jail, numbered as in errors.
func (p *Plan) Steps() (drop, jail []Step) {
	jail = append(steps(p.Prefix), steps(p.Jail)...)
	for i := range jail {
		jail[i].N = i + 1
	}
	return steps(p.Drop), jail
}

// CloneFlags returns the names of the new namespaces.
func (p *Plan) CloneFlags() []string {
	names := FlagNames(p.Flags)
	if p.Group != nil && p.Group.V2() > 0 {
		names = append(names, "CLONE_INTO_CGROUP")
	}
	return names
}

func steps(p *program.Program) (list []Step) {
	if p == nil {
		return nil
	}
	for i := range p.Ops {
		list = append(list, Step{i + 1, p.Ops[i].Label, p.Ops[i].Call()})
	}
	return list
}
