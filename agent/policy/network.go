package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// network checks the network mode, the egress rules and the published ports.
func (p *Policy) network(s *nsjail.Spec) *nsjail.Refusal {
	mode := s.Net
	if mode == "" {
		mode = nsjail.NetLoopback
	}
	if !open(p, p.Network.Modes) && !slices.Contains(p.Network.Modes, mode) {
		return p.refusal("network.modes", "network_not_allowed", "the network mode "+string(mode)+" is not allowed",
			"Use one of the allowed modes: "+orNone(modeNames(p.Network.Modes))+".")
	}
	for _, text := range s.Publish {
		if !open(p, p.Network.Publish) && !p.mayPublish(text) {
			return p.refusal("network.publish", "network_not_allowed", words.QuoteASCII(text)+" may not be published",
				"Publish at the host's 127.0.0.1 only, at one of the ports "+
					orNone(texts(p.Network.Publish, egress.Ports.String))+".")
		}
	}
	if mode == nsjail.NetEgress && s.Egress != nil && !(p.Open && p.Network.Egress == nil) {
		return p.egress(s.Egress)
	}
	return nil
}

// mayPublish checks a port in the form [127.0.0.1:]HOST:JAIL[/tcp]. Other addresses of the host are refused.
func (p *Policy) mayPublish(text string) bool {
	text, protocol, given := strings.Cut(text, "/")
	parts := strings.Split(text, ":")
	if given && protocol != "tcp" || len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[0] != "127.0.0.1" {
		return false
	}
	port, err := strconv.ParseUint(parts[len(parts)-2], 10, 16)
	return err == nil && slices.ContainsFunc(p.Network.Publish,
		func(r egress.Ports) bool { return r.Contains(uint16(port)) })
}

// maxPairs bounds the number of comparisons of a run's rules with the policy's.
const maxPairs = 1 << 20

// egress checks that what the run's rules allow lies within what the policy's allow. narrowEgress adds the denials.
func (p *Policy) egress(asked *egress.Policy) *nsjail.Refusal {
	var have []egress.Row
	if p.Network.Egress != nil {
		have = allows(p.Network.Egress)
	}
	rows := allows(asked)
	if len(rows)*len(have) > maxPairs {
		return p.refusal("network.egress", "network_not_allowed",
			fmt.Sprintf("%d rules are too many to compare with %d", len(rows), len(have)), "Ask for fewer rules.")
	}
	for _, row := range rows {
		if !covered(row, have) {
			return p.refusal("network.egress", "network_not_allowed", "to reach "+rowText(row)+" is not allowed",
				p.reachable(have))
		}
	}
	if len(asked.DNS) > 0 && (p.Network.Egress == nil || !sameServers(asked, p.Network.Egress)) {
		return p.refusal("network.egress.dns", "network_not_allowed", "the choice of DNS servers is not allowed",
			"Leave dns out.")
	}
	return nil
}

func (p *Policy) reachable(have []egress.Row) string {
	if len(have) == 0 {
		return "Nothing can be reached; work without the network."
	}
	return "Ask for some of what can be reached: " + orNone(texts(have, rowText)) + "."
}

func sameServers(asked, own *egress.Policy) bool {
	for _, s := range asked.DNSServers() {
		if !slices.Contains(own.DNSServers(), s) {
			return false
		}
	}
	return true
}

// rowText formats a row as a rule.
func rowText(r egress.Row) string {
	t := r.Target
	if strings.Contains(t, ":") && !strings.HasPrefix(t, "[") {
		t = "[" + t + "]"
	}
	if r.Mode != "" {
		t = string(r.Mode) + "://" + t
	}
	return strings.Join(strings.Fields(t+":"+r.Ports+" "+r.Methods+" "+r.Paths), " ")
}

// allows returns the effective rules that allow.
func allows(p *egress.Policy) []egress.Row {
	return slices.DeleteFunc(egress.Effective(p), func(r egress.Row) bool { return r.Verdict != "allow" })
}

// covered reports whether every connection that a row allows is allowed by a rule of have. Different ports may be
// allowed by different rules: a row with ports 80 and 443 can be covered by two. A connection to one port and target
// must be allowed by a single rule; a combination of rules is not recognised, which errs on the strict side.
func covered(row egress.Row, have []egress.Row) bool {
	left := portSet(row.Ports)
	for _, h := range have {
		if includes(h, row) {
			left = without(left, portSet(h.Ports))
		}
	}
	return len(left) == 0
}

// includes reports whether have includes row in all but the ports.
func includes(have, row egress.Row) bool {
	if !protocolWithin(row, have) || !targetWithin(row, have) {
		return false
	}
	if have.Mode != egress.ModeHTTP {
		return true
	}
	return listWithin(row.Methods, have.Methods, ",", func(m, h string) bool { return m == h }) &&
		listWithin(row.Paths, have.Paths, " ", func(p, h string) bool { return under(p, h) })
}

// protocolWithin reports whether the protocol of row is included: tcp includes every protocol over TCP; tls, http and
// udp include only themselves.
func protocolWithin(row, have egress.Row) bool {
	switch have.Mode {
	case egress.ModeTCP:
		return row.Mode != egress.ModeUDP
	default:
		return row.Mode == have.Mode
	}
}

// listWithin reports whether each element of asked is in have. An empty list means everything.
func listWithin(asked, have, sep string, in func(a, h string) bool) bool {
	if have == "" {
		return true
	}
	if asked == "" {
		return false
	}
	for a := range strings.SplitSeq(asked, sep) {
		if !slices.ContainsFunc(strings.Split(have, sep), func(h string) bool { return in(a, h) }) {
			return false
		}
	}
	return true
}

// targetWithin compares names with names and addresses with addresses: a rule for addresses never allows a name.
func targetWithin(row, have egress.Row) bool {
	if row.Target == have.Target {
		return true
	}
	asked, askedIs := prefix(row.Target)
	own, ownIs := prefix(have.Target)
	switch {
	case askedIs != ownIs:
		return false
	case askedIs:
		return own.Bits() <= asked.Bits() && own.Contains(asked.Addr()) && opens(have, asked.Addr())
	case have.Target == "*":
		return true
	}
	suffix, wild := strings.CutPrefix(have.Target, "*.")
	return wild && strings.HasSuffix(strings.TrimPrefix(row.Target, "*."), "."+suffix)
}

// opens reports whether a rule for a prefix allows an address: 0.0.0.0/0 does not allow 10.0.0.1, but 10.0.0.0/8 does.
// For a narrower prefix, checking its first address is enough: either the whole of both prefixes lies in the same
// special range, or in none.
func opens(have egress.Row, a netip.Addr) bool {
	first := egress.Ports{}
	for _, f := range portSet(have.Ports) {
		first = f
		break
	}
	p := egress.Policy{Allow: []egress.Rule{{CIDR: have.Target, Ports: []egress.Ports{first}, Mode: have.Mode}}}
	m, err := p.Compile()
	return err == nil && m.Addr(a, first.From, have.Mode == egress.ModeUDP).Allow
}

func prefix(s string) (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil
}

// portSet parses the ports of a row.
func portSet(text string) (set []egress.Ports) {
	for part := range strings.SplitSeq(text, ",") {
		var p egress.Ports
		if err := p.UnmarshalJSON([]byte(strconv.Quote(part))); err == nil {
			set = append(set, p)
		}
	}
	return set
}

// without returns set minus cut.
func without(set, cut []egress.Ports) []egress.Ports {
	for _, c := range cut {
		var next []egress.Ports
		for _, p := range set {
			if c.To < p.From || p.To < c.From {
				next = append(next, p)
				continue
			}
			if p.From < c.From {
				next = append(next, egress.Ports{From: p.From, To: c.From - 1})
			}
			if c.To < p.To {
				next = append(next, egress.Ports{From: c.To + 1, To: p.To})
			}
		}
		set = next
	}
	return set
}
