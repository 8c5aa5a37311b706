package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/brigd/job"
	"brig/internal/strictjson"
	"brig/internal/words"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

// networkRules are what a run may reach, and where it may be reached.
type networkRules struct {
	rule
	Network
}

func (p *Policy) network() *networkRules { return &networkRules{p.rule(), p.Network} }

func (n *networkRules) check(c *checker) {
	c.oneOf("network.modes", modeNames(n.Modes), []string{"none", "loopback", "egress", "host"})
	if n.Egress != nil {
		for _, e := range n.Egress.Check() {
			c.add(strings.TrimSuffix("network.egress."+e.Path, "."), e.Reason, e.Fix)
		}
	}
	for i, ports := range n.Publish {
		if ports.From == 0 || ports.From > ports.To {
			c.add(strictjson.Index("network.publish", i), "the range is empty or has port 0", "write ports from 1 to 65535")
		}
	}
}

// judge checks the network mode, the egress rules and the published ports.
func (n *networkRules) judge(s *nsjail.Spec) *job.Refusal {
	mode := cmp.Or(s.Net, nsjail.NetLoopback)
	if !open(n.rule, n.Modes) && !slices.Contains(n.Modes, mode) {
		return n.refusal("network.modes", "network_not_allowed", "the network mode "+string(mode)+" is not allowed",
			"Use one of the allowed modes: "+orNone(modeNames(n.Modes))+".")
	}
	for _, text := range s.Publish {
		if !open(n.rule, n.Publish) && !n.mayPublish(text) {
			return n.refusal("network.publish", "network_not_allowed", words.QuoteASCII(text)+" may not be published",
				"Publish at the host's 127.0.0.1 only, at one of the ports "+
					orNone(texts(n.Publish, egress.Ports.String))+".")
		}
	}
	if mode == nsjail.NetEgress && s.Egress != nil && !(n.open && n.Egress == nil) {
		return n.within(s.Egress)
	}
	return nil
}

// mayPublish checks a port in the form [127.0.0.1:]HOST:JAIL[/tcp]. Other addresses of the host are refused.
func (n *networkRules) mayPublish(text string) bool {
	text, protocol, given := strings.Cut(text, "/")
	parts := strings.Split(text, ":")
	if given && protocol != "tcp" || len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && parts[0] != "127.0.0.1" {
		return false
	}
	port, err := strconv.ParseUint(parts[len(parts)-2], 10, 16)
	return err == nil && slices.ContainsFunc(n.Publish,
		func(r egress.Ports) bool { return r.Contains(uint16(port)) })
}

// maxPairs bounds the number of comparisons of a run's rules with the policy's.
const maxPairs = 1 << 20

// within checks that what the run's rules allow lies within what the policy's allow. narrow adds the denials.
func (n *networkRules) within(asked *egress.Policy) *job.Refusal {
	own := n.Egress
	have := rows(own, "allow")
	wanted := rows(asked, "allow")
	if len(wanted)*len(have) > maxPairs {
		return n.refusal("network.egress", "network_not_allowed",
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
		return n.refusal("network.egress", "network_not_allowed", "to reach "+rowText(row)+" is not allowed", next)
	}
	foreign := func(s netip.AddrPort) bool { return !slices.Contains(own.DNSServers(), s) }
	if len(asked.DNS) > 0 && (own == nil || slices.ContainsFunc(asked.DNSServers(), foreign)) {
		return n.refusal("network.egress.dns", "network_not_allowed", "the choice of DNS servers is not allowed",
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
