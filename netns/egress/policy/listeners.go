package policy

import (
	"slices"
	"strconv"

	"brig/internal/strictjson"
)

// TCPPorts returns the ports that need a listener, sorted and without 53. all is true if the rules name more than
// MaxListeners ports, or if Redirect is set: the other ports then need the catch-all.
func (p *Policy) TCPPorts() (ports []uint16, all bool) {
	if p.Redirect {
		return nil, true
	}
	var sets []portSet
	for _, c := range p.allowances() {
		if c.rule.Mode != ModeUDP {
			sets = append(sets, c.ports)
		}
	}
	slices.SortStableFunc(sets, func(a, b portSet) int { return a.count() - b.count() })
	var union portSet
	for _, s := range sets {
		next := newPortSet(slices.Concat(union, s))
		if next.count() > MaxListeners {
			all = true
			break
		}
		union = next
	}
	return union.list(), all
}

// UDPPorts returns the ports of the udp rules, sorted.
func (p *Policy) UDPPorts() (ports []uint16, err *Problem) {
	var union portSet
	for i, c := range p.allowances() {
		if c.rule.Mode != ModeUDP {
			continue
		}
		if portSet(c.rule.Ports).contains(PortDNS) {
			return nil, &Problem{strictjson.Index("allow", i) + ".ports", "UDP port 53 is the jail's own resolver",
				"leave port 53 out; the keeper's servers are named in dns"}
		}
		union = newPortSet(slices.Concat(union, c.ports))
		if union.count() > MaxUDPPorts {
			return nil, &Problem{strictjson.Index("allow", i) + ".ports", "the udp rules name more than " +
				strconv.Itoa(MaxUDPPorts) + " ports together", "name the ports that are needed, as udp://192.0.2.1:123"}
		}
	}
	return union.list(), nil
}

// list returns each port of a small set.
func (s portSet) list() (ports []uint16) {
	for _, p := range s {
		for port := int(p.From); port <= int(p.To); port++ {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}
