package policy

import (
	"net/netip"
	"strings"

	"brig/internal/words"
)

// looksLikeAddress reports whether a target is, or resembles, an address or prefix rather than a name: it decides which
// error is shown.
func looksLikeAddress(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil || strings.Contains(s, ":") {
		return true
	}
	address, _, slash := strings.Cut(s, "/")
	_, err := netip.ParseAddr(address)
	return slash && err == nil
}

// parsePrefix parses an address or a prefix in its canonical spelling; an address is a prefix of its full length.
func parsePrefix(s string) (netip.Prefix, *Problem) {
	a, err := netip.ParseAddr(s)
	p := netip.PrefixFrom(a, a.BitLen())
	if err != nil {
		p, err = netip.ParsePrefix(s)
		a = p.Addr()
	}
	switch {
	case err != nil:
		return p, &Problem{Reason: words.QuoteASCII(s) + " is no address or prefix",
			Fix: "write 192.0.2.1, 192.0.2.0/24, 2001:db8::1 or 2001:db8::/32"}
	case a.Zone() != "":
		return p, &Problem{Reason: words.QuoteASCII(s) + " has a zone",
			Fix: "write a global address: a jail has no interface of the host"}
	case a.Is4In6():
		fix := "write an IPv4 address or prefix"
		if p.Bits() >= 96 {
			fix = "write " + prefixText(netip.PrefixFrom(a.Unmap(), p.Bits()-96).Masked())
		}
		return p, &Problem{Reason: words.QuoteASCII(s) + " is an IPv4 address written as IPv6", Fix: fix}
	case p.Masked() != p:
		return p, &Problem{Reason: words.QuoteASCII(s) + " has bits set beyond its prefix length",
			Fix: "write " + p.Masked().String() + " for the network, or " + a.String() + " for the one address"}
	}
	return p, nil
}

// prefixText returns a prefix's text; one of full length is an address.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
