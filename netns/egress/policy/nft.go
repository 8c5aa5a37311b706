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
	written, rest := p.byClass()
	for _, c := range written {
		b.WriteString("\t\t" + nftMatch(c.prefix) + nftPorts(protocol(c), c.ports) + " accept\n")
	}
	for _, v := range versions {
		b.WriteString("\t\t" + v.nft + " daddr @blocked" + v.digit + " drop\n")
	}
	for _, c := range rest {
		if c.rule.CIDR == "" {
			b.WriteString("\t\ttcp dport " + nftSetOf(c.ports) + " accept comment \"name " + c.rule.Host + "\"\n")
			continue
		}
		b.WriteString("\t\t" + nftMatch(c.prefix) + nftPorts(protocol(c), c.ports) + " accept\n")
	}
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

// byClass splits the allow rules into those that open a blocked range, since they lie within it, and the rest.
func (p *Policy) byClass() (written, rest []*compiled) {
	for _, c := range p.open() {
		special, blocked := class{}, false
		if c.rule.CIDR != "" {
			special, blocked = classOf(c.prefix.Addr())
		}
		if blocked && within(c.prefix, special.prefix) {
			written = append(written, c)
		} else {
			rest = append(rest, c)
		}
	}
	return written, rest
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
