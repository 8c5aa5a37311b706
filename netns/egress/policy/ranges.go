package policy

import (
	"net/netip"
	"slices"
	"sync"
)

// class is a range of addresses that is not part of the public internet.
type class struct {
	prefix netip.Prefix
	why    string
	never  bool // closed even to a rule that names it
}

// classes are the special-purpose registries of IANA (RFC 6890), except for plain global unicast. Among nested ranges
// of an address family, the longest prefix is first. The last lines leave 2000::/3, all that is assigned. Ranges with
// never are addresses that embed another (translated ones), those of the jail itself (loopback, and 198.18.0.0/15,
// which has its synthetic addresses), and those that no TCP or UDP server has (multicast, broadcast, link-local IPv6
// without its zone). The table is built on first use, to keep it out of brig's start time.
var classes = sync.OnceValue(func() []class {
	return []class{
		in("0.0.0.0/8", "unspecified", true),
		in("10.0.0.0/8", "private", false),
		in("100.64.0.0/10", "cgnat", false),
		in("127.0.0.0/8", "loopback", true),
		in("169.254.0.0/16", "link-local", false),
		in("172.16.0.0/12", "private", false),
		in("192.0.0.0/24", "reserved", false),
		in("192.0.2.0/24", "test", false),
		in("192.88.99.0/24", "6to4", true),
		in("192.168.0.0/16", "private", false),
		in("198.18.0.0/15", "benchmark", true),
		in("198.51.100.0/24", "test", false),
		in("203.0.113.0/24", "test", false),
		in("224.0.0.0/4", "multicast", true),
		in("255.255.255.255/32", "broadcast", true),
		in("240.0.0.0/4", "reserved", false),

		in("::/128", "unspecified", true),
		in("::1/128", "loopback", true),
		in("::/96", "compatible", true),
		in("::ffff:0:0/96", "mapped", true),
		in("::ffff:0:0:0/96", "mapped", true),
		in("64:ff9b::/96", "nat64", true),
		in("64:ff9b:1::/48", "nat64", true),
		in("100::/64", "discard", true),
		in("2001::/32", "teredo", true),
		in("2001:2::/48", "benchmark", false),
		in("2001::/23", "reserved", false),
		in("2001:db8::/32", "documentation", false),
		in("2002::/16", "6to4", true),
		in("3fff::/20", "documentation", false),
		in("fc00::/7", "private", false),
		in("fe80::/10", "link-local", true),
		in("fec0::/10", "private", false),
		in("ff00::/8", "multicast", true),
		in("::/3", "reserved", false),
		in("4000::/2", "reserved", false),
		in("8000::/1", "reserved", false),
	}
})

func in(prefix, why string, never bool) class {
	return class{netip.MustParsePrefix(prefix), why, never}
}

// metadata are the addresses at which clouds serve credentials without authentication.
var metadata = sync.OnceValue(func() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("169.254.169.254"),    // nearly every cloud
		netip.MustParseAddr("169.254.170.2"),      // Amazon ECS
		netip.MustParseAddr("169.254.170.23"),     // Amazon EKS
		netip.MustParseAddr("169.254.169.253"),    // Amazon's resolver
		netip.MustParseAddr("169.254.169.250"),    // Rancher
		netip.MustParseAddr("169.254.0.23"),       // Tencent
		netip.MustParseAddr("169.254.42.42"),      // Scaleway
		netip.MustParseAddr("100.100.100.200"),    // Alibaba
		netip.MustParseAddr("168.63.129.16"),      // Azure's WireServer, numerically a public address
		netip.MustParseAddr("192.0.0.192"),        // Oracle
		netip.MustParseAddr("fd00:ec2::254"),      // Amazon EC2
		netip.MustParseAddr("fd00:ec2::23"),       // Amazon EKS
		netip.MustParseAddr("fd00:ec2::253"),      // Amazon's resolver
		netip.MustParseAddr("fd20:ce::254"),       // Google
		netip.MustParseAddr("fd00:42::42"),        // Scaleway
		netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
		netip.MustParseAddr("fe80::a9fe:a9fe"),    // OpenStack
	}
})

// Blocked returns one word for the reason why no name may lead to a: "private", "loopback", "link-local", "cgnat",
// "metadata", "test", "documentation", "benchmark", "multicast", "broadcast", "reserved", "unspecified", "discard", and
// for addresses that embed an IPv4 one "mapped", "compatible", "nat64", "6to4", "teredo", "isatap". It returns "" if a
// name may. A network-specific NAT64 prefix cannot be recognised.
func Blocked(a netip.Addr) (why string) {
	c, ok := classOf(a)
	switch {
	case Metadata(a):
		return "metadata"
	case ok:
		return c.why
	}
	return ""
}

// classOf returns a's class. An address with a zone is link-local to one interface, regardless of its bits.
func classOf(a netip.Addr) (class, bool) {
	if !a.IsValid() {
		return class{why: "invalid", never: true}, true
	}
	if a.Zone() != "" {
		return class{prefix: netip.PrefixFrom(a.WithZone(""), a.BitLen()), why: "link-local", never: true}, true
	}
	if isatap(a) {
		return class{prefix: netip.PrefixFrom(a, a.BitLen()), why: "isatap", never: true}, true
	}
	if a.Is4In6() { // netip.Prefix.Contains matches none of these
		return class{prefix: netip.PrefixFrom(a, a.BitLen()), why: "mapped", never: true}, true
	}
	for _, c := range classes() {
		if c.prefix.Contains(a) {
			return c, true
		}
	}
	return class{}, false
}

// Metadata reports whether a is a cloud's metadata service, in any form. No rule opens these.
func Metadata(a netip.Addr) bool {
	return slices.ContainsFunc(append(embedded(a), a.WithZone("")), func(a netip.Addr) bool {
		return slices.Contains(metadata(), a)
	})
}

// isatap reports whether a has an interface identifier of RFC 5214 §6.1, which ends with an IPv4 address.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && !a.Is4In6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// embedded returns the IPv4 addresses embedded in an IPv6 address.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	c, _ := classOf(a.WithZone(""))
	b := a.As16()
	last := [4]byte(b[12:])
	switch c.why {
	case "mapped", "compatible", "nat64", "isatap":
		return []netip.Addr{netip.AddrFrom4(last)}
	case "6to4":
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case "teredo": // the client's address is written inverted: RFC 4380 §4
		for i := range last {
			last[i] = ^last[i]
		}
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4(last)}
	}
	return nil
}
