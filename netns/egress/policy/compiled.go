package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// compiled is a canonical rule with its ports.
type compiled struct {
	rule   Rule
	text   string
	order  int // in its list
	ports  portSet
	prefix netip.Prefix // of an address rule
}

// ruleSet holds rules by their Host, and those for addresses in their order.
type ruleSet struct {
	named    map[string][]*compiled
	prefixes []*compiled
}

// allowances returns Allow and AllowedHosts, in this order. AllowedPorts may leave a rule no ports.
func (p *Policy) allowances() (out []*compiled) {
	add := func(r Rule, problem *Problem) {
		if problem == nil {
			ports := r.effective()
			if len(p.AllowedPorts) > 0 {
				ports = ports.and(newPortSet(p.AllowedPorts))
			}
			out = append(out, compile(r, len(out), ports))
		}
	}
	if p.AllowOutbound != nil && !*p.AllowOutbound {
		return nil
	}
	for _, r := range p.Allow {
		add(allowRule(r))
	}
	for _, host := range p.AllowedHosts {
		add(p.allowedHost(host))
	}
	return out
}

// denials returns Deny, BlockedHosts and BlockedRanges, in this order.
func (p *Policy) denials() (out []*compiled) {
	add := func(r Rule, problem *Problem) {
		ports := newPortSet(r.Ports)
		if len(ports) == 0 {
			ports = portSet{anyPort}
		}
		if problem == nil {
			out = append(out, compile(r, len(out), ports))
		}
	}
	for _, r := range p.Deny {
		add(denyRule(r))
	}
	for _, host := range slices.Concat(p.BlockedHosts, p.BlockedRanges) {
		add(blockedHost(host))
	}
	return out
}

func compile(r Rule, order int, ports portSet) *compiled {
	c := &compiled{rule: r, text: r.String(), order: order, ports: ports}
	if r.CIDR != "" {
		c.prefix, _ = parsePrefix(r.CIDR) // canonical already
	}
	return c
}

func newRuleSet(list []*compiled) ruleSet {
	s := ruleSet{named: map[string][]*compiled{}}
	for _, c := range list {
		if c.rule.CIDR != "" {
			s.prefixes = append(s.prefixes, c)
		} else {
			s.named[c.rule.Host] = append(s.named[c.rule.Host], c)
		}
	}
	return s
}

// rules returns every rule for a normalised name.
func (s *ruleSet) rules(name string) []*compiled {
	list := slices.Concat(s.named[name], s.named[anyHost])
	_, suffix, more := strings.Cut(name, ".")
	for more {
		list = append(list, s.named["*."+suffix]...)
		_, suffix, more = strings.Cut(suffix, ".")
	}
	return list
}

// before reports whether c, rather than other, determines the mode.
func (c *compiled) before(other *compiled, port uint16) bool {
	tcp, otherTCP := c.mode(port) == ModeTCP, other.mode(port) == ModeTCP
	if tcp != otherTCP {
		return tcp
	}
	return c.order < other.order
}

// mode returns the rule's mode at a port; never ModeDefault.
func (c *compiled) mode(port uint16) Mode {
	switch {
	case c.rule.Mode != ModeDefault:
		return c.rule.Mode
	case c.rule.Host != "" && port == 443:
		return ModeTLS
	case c.rule.Host != "" && port == 80:
		return ModeHTTP
	}
	return ModeTCP
}

// within reports whether all of p is in outer.
func within(p, outer netip.Prefix) bool { return p.Bits() >= outer.Bits() && outer.Contains(p.Addr()) }
