package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/brigd/job"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// network checks the network mode, the egress rules and the published ports.
func (p *Policy) network(s *nsjail.Spec) *job.Refusal {
	mode := cmp.Or(s.Net, nsjail.NetLoopback)
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
func (p *Policy) egress(asked *egress.Policy) *job.Refusal {
	own := p.Network.Egress
	have := rows(own, "allow")
	wanted := rows(asked, "allow")
	if len(wanted)*len(have) > maxPairs {
		return p.refusal("network.egress", "network_not_allowed",
			fmt.Sprintf("%d rules are too many to compare with %d", len(wanted), len(have)), "Ask for fewer rules.")
	}
	for _, row := range wanted {
		if row.Within(have) {
			continue
		}
		next := "Ask for some of what can be reached: " + orNone(texts(have, rowText)) + "."
		if len(have) == 0 {
			next = "Nothing can be reached; work without the network."
		}
		return p.refusal("network.egress", "network_not_allowed", "to reach "+rowText(row)+" is not allowed", next)
	}
	foreign := func(s netip.AddrPort) bool { return !slices.Contains(own.DNSServers(), s) }
	if len(asked.DNS) > 0 && (own == nil || slices.ContainsFunc(asked.DNSServers(), foreign)) {
		return p.refusal("network.egress.dns", "network_not_allowed", "the choice of DNS servers is not allowed",
			"Leave dns out.")
	}
	return nil
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

// rows returns the effective rules with a verdict; nil only for nil.
func rows(p *egress.Policy, verdict string) []egress.Row {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(append([]egress.Row{}, egress.Effective(p)...),
		func(r egress.Row) bool { return r.Verdict != verdict })
}
