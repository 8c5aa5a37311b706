package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Kubernetes returns a NetworkPolicy (networking.k8s.io/v1) for pods labelled brig.jail: name, for an auditor. Like
// NFT, it is an upper bound, since a NetworkPolicy has no names, methods or denials: a name becomes every public
// address at its ports, and a denied prefix an exception of the prefix around it. The name is made valid.
func (p *Policy) Kubernetes(name string) string {
	name = k8sName(name)
	var b strings.Builder
	b.WriteString("# An upper bound of the policy: a NetworkPolicy knows addresses, not names. " +
		"An entry with a name in its comment\n# stands for that name alone, and brig connects to its addresses only; " +
		"modes, methods and paths have no form here.\n" +
		"# brig's own resolver answers the payload: port 53 stays closed.\n")
	denials := p.denials()
	for _, c := range denials {
		if c.rule.CIDR == "" {
			b.WriteString("# Denied by name, without a form here: " + c.text + "\n")
		}
	}
	b.WriteString("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata:\n  name: " + name +
		"\nspec:\n  podSelector:\n    matchLabels:\n      brig.jail: " + name + "\n  policyTypes:\n  - Egress\n")
	var items strings.Builder
	for _, c := range p.open() {
		targets, comment := []netip.Prefix{c.prefix}, ""
		if c.rule.CIDR == "" {
			targets, comment = []netip.Prefix{versions[0].all, versions[1].all}, "  # "+c.rule.Host+"\n"
		}
		for _, target := range targets {
			for _, part := range k8sParts(target, c.ports, denials) {
				part.write(&items, comment, strings.ToUpper(protocol(c)))
			}
		}
	}
	if items.Len() == 0 {
		return b.String() + "  egress: []\n"
	}
	return b.String() + "  egress:\n" + items.String()
}

// part is one entry: a prefix, its exceptions and its ports.
type part struct {
	target netip.Prefix
	except []netip.Prefix
	ports  portSet
}

// k8sParts splits a target's ports by their denials, since an entry's exceptions apply to all of its ports. A fully
// denied target has no entry.
func k8sParts(target netip.Prefix, ports portSet, denials []*compiled) []part {
	parts := []part{{target, k8sBlocked(target), ports}}
	for _, c := range denials {
		if c.rule.CIDR == "" || !c.prefix.Overlaps(target) {
			continue
		}
		var next []part
		for _, p := range parts {
			if hit := p.ports.and(c.ports); hit.count() > 0 && !within(target, c.prefix) {
				next = append(next, part{target, except(p.except, c.prefix), hit})
			}
			if rest := p.ports.minus(c.ports); rest.count() > 0 {
				next = append(next, part{target, p.except, rest})
			}
		}
		parts = next
	}
	return parts
}

// k8sBlocked returns the blocked ranges within a target. An exception must be smaller than the target.
func k8sBlocked(target netip.Prefix) (out []netip.Prefix) {
	six := target.Addr().Is6()
	for _, p := range slices.Concat(blockedOf(six), metadataOf(six)) {
		if p.Bits() > target.Bits() && within(p, target) {
			out = except(out, p)
		}
	}
	return out
}

// except adds a prefix that is not covered yet to a copy of the list.
func except(list []netip.Prefix, p netip.Prefix) []netip.Prefix {
	if slices.ContainsFunc(list, func(e netip.Prefix) bool { return within(p, e) }) {
		return list
	}
	return append(slices.Clone(list), p)
}

func (p *part) write(b *strings.Builder, comment, protocol string) {
	b.WriteString(comment + "  - to:\n    - ipBlock:\n        cidr: " + p.target.String() + "\n")
	if len(p.except) > 0 {
		b.WriteString("        except:\n")
		for _, e := range p.except {
			b.WriteString("        - " + e.String() + "\n")
		}
	}
	b.WriteString("    ports:\n")
	for _, r := range p.ports {
		b.WriteString("    - protocol: " + protocol + "\n      port: " + strconv.Itoa(int(r.From)) + "\n")
		if r.To > r.From {
			b.WriteString("      endPort: " + strconv.Itoa(int(r.To)) + "\n")
		}
	}
}

// k8sName returns a DNS label (RFC 1123) for any text, so that a jail's name cannot add lines.
func k8sName(s string) string {
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	label := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s))
	if label = strings.Trim(label, "-"); label == "" {
		return "brig-egress"
	}
	return label
}
