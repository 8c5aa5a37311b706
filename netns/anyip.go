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
	jailAddr4 = netip.MustParseAddr("10.0.2.100")
	jailAddr6 = netip.MustParseAddr("fd00:6272:6967::100") // a unique local address (RFC 4193)
)

const (
	loIndex = 1 // lo has it in every network namespace
	// ifaFNoDAD is IFA_F_NODAD: no other host can have the address (rtnetlink(7)).
	ifaFNoDAD = 0x2
)

// anyIP makes every address local to the namespace. A connection reaches a socket that listens in the namespace, and no
// other host. ip-route(8), type local; rtnetlink(7).
func anyIP(p *program.Program, ipv6 bool) {
	list := local(jailAddr4)
	if ipv6 {
		list = append(list, local(jailAddr6)...)
	}
	exchange(p, unix.NETLINK_ROUTE, "NETLINK_ROUTE", list)
}

// local returns RTM_NEWADDR of a on lo, and RTM_NEWROUTE local ADDRESSES dev lo table local src a, with all addresses
// of its family.
func local(a netip.Addr) []message {
	to := nl.NewIfAddrmsg(unix.AF_INET)
	to.Prefixlen, to.Index, to.Scope = uint8(a.BitLen()), loIndex, unix.RT_SCOPE_UNIVERSE
	way := nl.NewRtMsg()
	way.Family, way.Table, way.Type = unix.AF_INET, unix.RT_TABLE_LOCAL, unix.RTN_LOCAL
	way.Scope, way.Protocol = unix.RT_SCOPE_HOST, unix.RTPROT_STATIC
	all := "0.0.0.0/0"
	if a.Is6() {
		to.Family, to.Flags = unix.AF_INET6, ifaFNoDAD
		way.Family, way.Scope, all = unix.AF_INET6, unix.RT_SCOPE_UNIVERSE, "::/0"
	}
	const flags = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	return []message{
		newMessage(unix.RTM_NEWADDR, flags, "RTM_NEWADDR "+netip.PrefixFrom(a, a.BitLen()).String()+" dev lo", true, to,
			nl.NewRtAttr(unix.IFA_LOCAL, a.AsSlice()), nl.NewRtAttr(unix.IFA_ADDRESS, a.AsSlice())),
		newMessage(unix.RTM_NEWROUTE, flags, "RTM_NEWROUTE local "+all+" dev lo table local src "+a.String(), true, way,
			nl.NewRtAttr(unix.RTA_PREFSRC, a.AsSlice()), nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(loIndex))),
	}
}
