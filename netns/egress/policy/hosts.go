package policy

import (
	"net/netip"
	"slices"
	"strings"
)

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

// allows returns all allow rules.
func (p *Policy) allows() []Rule {
	if p.AllowOutbound != nil && !*p.AllowOutbound {
		return nil
	}
	rules := slices.Clone(p.Allow)
	for _, host := range p.AllowedHosts {
		if r, problem := p.allowedHost(host); problem == nil {
			rules = append(rules, r)
		}
	}
	return rules
}

// blocks returns the destinations that are denied at every port.
func (p *Policy) blocks() []string { return slices.Concat(p.BlockedHosts, p.BlockedRanges) }

// WritesOut reports whether an allow rule names exactly this address and its port, rather than a range that contains
// it.
func (p *Policy) WritesOut(to netip.AddrPort, udp bool) bool {
	return slices.ContainsFunc(p.allows(), func(r Rule) bool {
		prefix, problem := parsePrefix(r.CIDR)
		return problem == nil && prefix.IsSingleIP() && prefix.Addr() == to.Addr() && (r.Mode == ModeUDP) == udp &&
			portSet(r.Ports).contains(to.Port())
	})
}
