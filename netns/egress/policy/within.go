package policy

import (
	"net/netip"
	"slices"
	"strings"
)

// Within reports whether every connection that an allow row allows is allowed by a row of have. Different ports may be
// allowed by different rows: ports 80 and 443 can be covered by two. A connection to one port and target must be
// allowed by a single row; a combination of rows is not recognised, which errs on the strict side.
func (r Row) Within(have []Row) bool {
	left, problem := parsePortList(r.Ports)
	for _, h := range have {
		if h.includes(r) {
			ports, _ := parsePortList(h.Ports)
			left = left.minus(ports)
		}
	}
	return problem == nil && len(left) == 0
}

// includes reports whether r includes asked in all but the ports. Mode tcp includes every protocol over TCP; tls, http
// and udp include only themselves.
func (r Row) includes(asked Row) bool {
	if r.Mode != asked.Mode && (r.Mode != ModeTCP || asked.Mode == ModeUDP) || !r.includesTarget(asked) {
		return false
	}
	return r.Mode != ModeHTTP || listWithin(asked.Methods, r.Methods, ",", func(a, h string) bool { return a == h }) &&
		listWithin(asked.Paths, r.Paths, " ", under)
}

// includesTarget compares names with names and addresses with addresses: a row for addresses never includes a name.
// "*.example.com" includes "a.example.com" but not "example.com".
func (r Row) includesTarget(asked Row) bool {
	if r.Target == asked.Target {
		return true
	}
	own, ownIs := r.Prefix()
	p, is := asked.Prefix()
	switch {
	case is != ownIs:
		return false
	case is:
		return within(p, own) && opens(own, p.Addr())
	case r.Target == anyHost:
		return true
	}
	suffix, wild := strings.CutPrefix(r.Target, "*.")
	return wild && strings.HasSuffix(strings.TrimPrefix(asked.Target, "*."), "."+suffix)
}

// Prefix returns the addresses of a row; false if its target is a name.
func (r Row) Prefix() (netip.Prefix, bool) {
	if a, err := netip.ParseAddr(r.Target); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(r.Target)
	return p, err == nil
}

// opens reports whether a rule for a prefix opens the class of an address in it: 0.0.0.0/0 does not allow 10.0.0.1, but
// 10.0.0.0/8 does. For a narrower prefix, its first address is enough: either the whole of both prefixes lies in the
// same special range, or in none.
func opens(prefix netip.Prefix, a netip.Addr) bool {
	special, blocked := classOf(a)
	return !Metadata(a) && (!blocked || !special.never && within(prefix, special.prefix))
}

// listWithin reports whether each element of asked is in have. An empty list means everything.
func listWithin(asked, have, sep string, in func(a, h string) bool) bool {
	if asked == "" || have == "" {
		return have == ""
	}
	for a := range strings.SplitSeq(asked, sep) {
		if !slices.ContainsFunc(strings.Split(have, sep), func(h string) bool { return in(a, h) }) {
			return false
		}
	}
	return true
}
