package policy

import "slices"

// Clone returns a deep copy; nil for nil.
func (p *Policy) Clone() *Policy {
	if p == nil {
		return nil
	}
	c := *p
	c.Allow, c.Deny = cloneRules(p.Allow), cloneRules(p.Deny)
	c.AllowedPorts = slices.Clone(p.AllowedPorts)
	for _, list := range []*[]string{&c.AllowedHosts, &c.BlockedHosts, &c.BlockedRanges, &c.DNS} {
		*list = slices.Clone(*list)
	}
	if p.AllowOutbound != nil {
		yes := *p.AllowOutbound
		c.AllowOutbound = &yes
	}
	return &c
}

func cloneRules(rules []Rule) []Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		r := &rules[i]
		r.Ports, r.Methods, r.Paths = slices.Clone(r.Ports), slices.Clone(r.Methods), slices.Clone(r.Paths)
	}
	return rules
}
