package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
)

// Check returns every problem of the policy. If there is none, Compile succeeds.
func (p *Policy) Check() (problems []Problem) {
	problems = slices.Concat(
		tooMany("allow", p.Allow), each("allow", p.Allow, allowRule), tooMany("deny", p.Deny), each("deny", p.Deny, denyRule),
		each("allowed_ports", p.AllowedPorts, checkPorts), each("allowed_hosts", p.AllowedHosts, p.allowedHost),
		each("blocked_hosts", p.BlockedHosts, blockedHost), each("blocked_ranges", p.BlockedRanges, blockedHost),
		each("dns", p.DNS, dnsServer))
	for _, b := range p.Bounds() {
		if problem := b.check(); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if len(problems) == 0 {
		if _, problem := p.UDPPorts(); problem != nil { // it looks across rules
			problems = append(problems, *problem)
		}
	}
	return problems
}

func tooMany(name string, rules []Rule) []Problem {
	if len(rules) <= MaxRules {
		return nil
	}
	return []Problem{{name, "it has more than " + strconv.Itoa(MaxRules) + " rules",
		"write *.suffix for names below one suffix"}}
}

// dnsServer reads "ADDR" or "ADDR:PORT"; the port is 53 unless it is given.
func dnsServer(s string) (netip.AddrPort, *Problem) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil && !a.IsUnspecified() && !a.IsMulticast() {
		return netip.AddrPortFrom(a.Unmap(), PortDNS), nil
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast() {
		return a, &Problem{"", words.QuoteASCII(s) + " is no address of a DNS server",
			"write 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53"}
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), nil
}

// DNSServers returns the addresses of DNS, with their ports, without entries that Check refuses.
func (p *Policy) DNSServers() (servers []netip.AddrPort) {
	for _, s := range p.DNS {
		if server, problem := dnsServer(s); problem == nil {
			servers = append(servers, server)
		}
	}
	return servers
}
