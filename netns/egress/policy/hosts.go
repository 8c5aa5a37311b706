package policy

import "strings"

// blockedHost parses an entry of blocked_hosts as a deny rule.
func blockedHost(s string) (Rule, *Problem) {
	target := s
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		target = strings.TrimSuffix(inner, "]")
	}
	r := Rule{Host: target}
	if looksLikeAddress(target) {
		r = Rule{CIDR: target}
	}
	r, problem := r.canonical()
	if problem != nil {
		return r, &Problem{"", problem.Reason, problem.Fix}
	}
	return r, nil
}

// allowedHost parses an entry of allowed_hosts as a rule.
func (p *Policy) allowedHost(s string) (Rule, *Problem) {
	r, problem := blockedHost(s) // the same forms
	if problem != nil {
		return r, problem
	}
	if r.CIDR != "" {
		r.Ports = []Ports{{80, 80}, {443, 443}}
	}
	if len(p.AllowedPorts) > 0 {
		r.Ports = p.AllowedPorts
	}
	if r, problem = allowRule(r); problem != nil {
		problem = &Problem{"", problem.Reason, problem.Fix}
	}
	return r, problem
}
