package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// NFT returns an nftables ruleset that an auditor can compare with a firewall's. nft -c -f accepts it; brig never loads
// it. It is an upper bound: netfilter matches addresses only, so a rule for a name becomes every public address at its
// ports, and denied names are comments. brig refuses the rest.
func (p *Policy) NFT() string {
	var b strings.Builder
	b.WriteString("# An upper bound of the policy: netfilter knows addresses, not names. " +
		"A line with \"name\" in its comment stands for\n" +
		"# one name, and brig connects to the addresses of that name only. " +
		"brig's resolver answers the jail itself, so that\n" +
		"# no line opens port 53 to the payload; modes, methods and paths have no form here.\n" +
		"table inet brig_egress {\n")
	for _, v := range versions {
		nftSet(&b, "metadata"+v.digit, v.typ, metadataOf(v.six))
		nftSet(&b, "blocked"+v.digit, v.typ, blockedOf(v.six))
	}
	b.WriteString("\tchain output {\n\t\ttype filter hook output priority filter; policy drop;\n" +
		"\t\toifname \"lo\" accept comment \"the jail's own\"\n\t\tct state established,related accept\n")
	for _, v := range versions {
		b.WriteString("\t\t" + v.nft + " daddr @metadata" + v.digit + " drop\n")
	}
	for _, c := range p.denials() {
		if c.rule.CIDR == "" {
			b.WriteString("\t\t# deny " + c.text + ": a name\n")
			continue
		}
		b.WriteString("\t\t" + nftMatch(c.prefix) + nftPorts("meta l4proto { tcp, udp } th", c.ports) + " drop\n")
	}
	accept := func(special bool) {
		for _, c := range p.open() {
			switch {
			case c.special() != special:
			case c.rule.CIDR == "":
				b.WriteString("\t\ttcp dport " + nftSetOf(c.ports) + " accept comment \"name " + c.rule.Host + "\"\n")
			default:
				b.WriteString("\t\t" + nftMatch(c.prefix) + nftPorts(protocol(c), c.ports) + " accept\n")
			}
		}
	}
	accept(true)
	for _, v := range versions {
		b.WriteString("\t\t" + v.nft + " daddr @blocked" + v.digit + " drop\n")
	}
	accept(false)
	b.WriteString("\t}\n}\n")
	return b.String()
}

// version names an address family.
type version struct {
	six             bool
	digit, typ, nft string
	all             netip.Prefix
}

var versions = []version{
	{false, "4", "ipv4_addr", "ip", netip.MustParsePrefix("0.0.0.0/0")},
	{true, "6", "ipv6_addr", "ip6", netip.MustParsePrefix("::/0")},
}

func protocol(c *compiled) string {
	if c.rule.Mode == ModeUDP {
		return "udp"
	}
	return "tcp"
}

// open returns the allow rules that have ports left.
func (p *Policy) open() []*compiled {
	return slices.DeleteFunc(p.allowances(), func(c *compiled) bool { return c.ports.count() == 0 })
}

// special reports whether a rule lies within a blocked range, which it opens.
func (c *compiled) special() bool {
	class, blocked := classOf(c.prefix.Addr())
	return c.rule.CIDR != "" && blocked && within(c.prefix, class.prefix)
}

func nftSet(b *strings.Builder, name, typ string, elements []netip.Prefix) {
	b.WriteString("\tset " + name + " {\n\t\ttype " + typ + "; flags interval\n\t\telements = {\n")
	for i, e := range elements {
		comma := ","
		if i == len(elements)-1 {
			comma = ""
		}
		b.WriteString("\t\t\t" + prefixText(e) + comma + "\n")
	}
	b.WriteString("\t\t}\n\t}\n")
}

func nftMatch(p netip.Prefix) string {
	if p.Addr().Is6() {
		return "ip6 daddr " + prefixText(p)
	}
	return "ip daddr " + prefixText(p)
}

// nftPorts returns a match of ports; every port of a protocol needs no set.
func nftPorts(head string, ports portSet) string {
	if len(ports) == 1 && ports[0] == anyPort {
		switch head {
		case "tcp", "udp":
			return " meta l4proto " + head
		}
		return ""
	}
	return " " + head + " dport " + nftSetOf(ports)
}

func nftSetOf(ports portSet) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strings.Replace(p.String(), "*", "1-65535", 1)
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}

// metadataOf returns the metadata addresses of one family.
func metadataOf(six bool) (out []netip.Prefix) {
	for _, a := range metadata() {
		if a.Is6() == six {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}

// blockedOf returns the blocked ranges of one family without those that lie within another.
func blockedOf(six bool) (out []netip.Prefix) {
	for i, c := range classes() {
		nested := false
		for j, other := range classes() {
			nested = nested || i != j && within(c.prefix, other.prefix)
		}
		if !nested && c.prefix.Addr().Is6() == six {
			out = append(out, c.prefix)
		}
	}
	return out
}
