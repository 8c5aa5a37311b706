package policy

import (
	"net/netip"
	"slices"
)

// Decision is the result for one destination.
type Decision struct {
	Allow  bool
	Rule   *Rule  // the rule that decided, or nil; read-only
	Text   string // the rule in the flag form, or the entry of blocked_hosts
	Mode   Mode   // of an allowed destination; never ModeDefault
	Reason Reason // of a refused destination

	name string // for Request
	port uint16
}

// Matcher is a compiled policy. It is safe for concurrent use.
type Matcher struct {
	allow, deny ruleSet
	closed      portSet // the ports denied for every address, so that no name need be resolved
}

// Compile returns a Matcher. Its error is the *Problem that Check finds, or all of them joined.
func (p *Policy) Compile() (*Matcher, error) {
	if problems := p.Check(); len(problems) > 0 {
		return nil, join(problems)
	}
	m := &Matcher{allow: newRuleSet(p.allowances()), deny: newRuleSet(p.denials())}
	m.closed = m.closedPorts(false).and(m.closedPorts(true))
	return m, nil
}

// closedPorts returns the ports at which every address of one family is denied.
func (m *Matcher) closedPorts(six bool) portSet {
	var ports []Ports
	for _, c := range m.deny.prefixes {
		if c.prefix.Bits() == 0 && c.prefix.Addr().Is6() == six {
			ports = append(ports, c.ports...)
		}
	}
	return newPortSet(ports)
}

// Host decides about a name at a TCP port. If several rules allow it, one of mode tcp determines the mode, since it
// allows any protocol; otherwise the first in the list does.
func (m *Matcher) Host(name string, port uint16) Decision {
	name, ok := NormalizeName(name)
	if !ok {
		return Decision{Reason: ReasonNameInvalid}
	}
	d := Decision{Reason: ReasonNoRule, name: name, port: port}
	denied := func(c *compiled) Decision {
		d.Reason, d.Rule, d.Text = ReasonDenied, &c.rule, c.text
		return d
	}
	for _, c := range m.deny.rules(name) {
		if c.ports.contains(port) {
			return denied(c)
		}
	}
	if m.closed.contains(port) {
		return denied(m.denies(netip.IPv4Unspecified(), port))
	}
	var best *compiled
	for _, c := range m.allow.rules(name) {
		d.Reason = ReasonPort
		if c.ports.contains(port) && (best == nil || c.before(best, port)) {
			best = c
		}
	}
	if best != nil {
		d.Allow, d.Reason, d.Rule, d.Text, d.Mode = true, ReasonNone, &best.rule, best.text, best.mode(port)
	}
	return d
}

// Knows reports whether a name is allowed at any port, so that DNS answers for it.
func (m *Matcher) Knows(name string) bool {
	name, ok := NormalizeName(name)
	if !ok {
		return false
	}
	denied := m.closed
	for _, c := range m.deny.rules(name) {
		denied = newPortSet(slices.Concat(denied, c.ports))
	}
	for _, c := range m.allow.rules(name) {
		if c.ports.minus(denied).count() > 0 {
			return true
		}
	}
	return false
}

// Addr decides about an address that the payload used directly. Only a rule whose prefix lies within a blocked range
// opens it: 0.0.0.0/0 does not open 10.0.0.0/8, and 10.1.2.0/24 does. Nothing opens a metadata service.
func (m *Matcher) Addr(ip netip.Addr, port uint16, udp bool) Decision {
	ip = ip.Unmap()
	special, blocked := classOf(ip)
	switch {
	case Metadata(ip):
		return Decision{Reason: ReasonMetadata, port: port}
	case blocked && special.never:
		return Decision{Reason: ReasonBlocked, port: port}
	}
	if c := m.denies(ip, port); c != nil {
		return Decision{Reason: ReasonDenied, Rule: &c.rule, Text: c.text, port: port}
	}
	d := Decision{Reason: ReasonNoRule, port: port}
	for _, c := range m.allow.prefixes {
		if !c.prefix.Contains(ip) || blocked && !within(c.prefix, special.prefix) {
			continue
		}
		switch mode := c.mode(port); {
		case (mode == ModeUDP) != udp:
		case !c.ports.contains(port):
			d.Reason = ReasonPort
		default:
			return Decision{Allow: true, Rule: &c.rule, Text: c.text, Mode: mode, port: port}
		}
	}
	switch {
	case blocked && d.Reason == ReasonNoRule:
		d.Reason = ReasonBlocked
	case udp && d.Reason == ReasonNoRule:
		d.Reason = ReasonUDP
	}
	return d
}

// denies returns a deny rule or entry of blocked_hosts for an address, or nil.
func (m *Matcher) denies(ip netip.Addr, port uint16) *compiled {
	for _, c := range m.deny.prefixes {
		if c.prefix.Contains(ip) && c.ports.contains(port) {
			return c
		}
	}
	return nil
}

// Vet returns why a name must not lead to an address at a TCP port, or ReasonNone. A blocked range is open to a name
// only if a rule for addresses opens it, too: the payload may then connect there without the name as well. An
// IPv4-mapped address counts as the IPv4 address to which the kernel connects. The dialer checks for the host's own
// addresses.
func (m *Matcher) Vet(ip netip.Addr, port uint16) Reason {
	ip = ip.Unmap()
	switch {
	case Metadata(ip):
		return ReasonMetadata
	case Blocked(ip) != "" && !m.Addr(ip, port, false).Allow:
		return ReasonBlocked
	case m.denies(ip, port) != nil:
		return ReasonDenied
	}
	return ReasonNone
}

// WritesOut reports whether an allow rule names exactly this address and its port, rather than a range that contains
// it.
func (m *Matcher) WritesOut(to netip.AddrPort, udp bool) bool {
	return slices.ContainsFunc(m.allow.prefixes, func(c *compiled) bool {
		return c.prefix.IsSingleIP() && c.prefix.Addr() == to.Addr() && (c.rule.Mode == ModeUDP) == udp &&
			portSet(c.rule.Ports).contains(to.Port())
	})
}
