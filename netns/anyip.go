package netns

import (
	"net/netip"

	"brig/internal/program"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The addresses of a jail in which every address is local. A connection to a closed port needs a source address that is
// not its destination, or it could connect to itself.
var (
	Own4 = netip.MustParseAddr("10.0.2.100")
	Own6 = netip.MustParseAddr("fd00:6272:6967::100") // a unique local address (RFC 4193)
)

const (
	loIndex = 1 // lo has it in every network namespace
	// ifaFNoDAD is IFA_F_NODAD: no other host can have the address (rtnetlink(7)).
	ifaFNoDAD = 0x2
)

// anyIP makes every address local to the namespace. A connection reaches a socket that listens in the namespace, and no
// other host. ip-route(8), type local; rtnetlink(7).
func anyIP(p *program.Program, ipv6 bool) {
	list := append(address(Own4), route(Own4)...)
	if ipv6 {
		list = append(append(list, address(Own6)...), route(Own6)...)
	}
	exchange(p, unix.NETLINK_ROUTE, "NETLINK_ROUTE", list)
}

func family(a netip.Addr) int {
	if a.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// address returns RTM_NEWADDR of a on lo.
func address(a netip.Addr) []message {
	m := nl.NewIfAddrmsg(family(a))
	m.Prefixlen, m.Index, m.Scope = uint8(a.BitLen()), loIndex, unix.RT_SCOPE_UNIVERSE
	if a.Is6() {
		m.Flags = ifaFNoDAD
	}
	text := "RTM_NEWADDR " + netip.PrefixFrom(a, a.BitLen()).String() + " dev lo"
	return []message{newMessage(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, text, true, m,
		nl.NewRtAttr(unix.IFA_LOCAL, a.AsSlice()), nl.NewRtAttr(unix.IFA_ADDRESS, a.AsSlice()))}
}

// route returns RTM_NEWROUTE local ADDRESSES dev lo table local src a, with all addresses of a's family.
func route(a netip.Addr) []message {
	m := nl.NewRtMsg()
	m.Family, m.Table, m.Type = uint8(family(a)), unix.RT_TABLE_LOCAL, unix.RTN_LOCAL
	m.Scope, m.Protocol = unix.RT_SCOPE_HOST, unix.RTPROT_STATIC
	all := "0.0.0.0/0"
	if a.Is6() {
		all, m.Scope = "::/0", unix.RT_SCOPE_UNIVERSE
	}
	text := "RTM_NEWROUTE local " + all + " dev lo table local src " + a.String()
	return []message{newMessage(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, text, true, m,
		nl.NewRtAttr(unix.RTA_PREFSRC, a.AsSlice()), nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(loIndex)))}
}
