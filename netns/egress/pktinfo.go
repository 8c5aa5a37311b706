package egress

import (
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// ancillary is the buffer size for the packet information of both families: ip(7), ipv6(7).
const ancillary = 128

// askedAddr returns the destination of a datagram from its ancillary data.
func askedAddr(oob []byte) (netip.Addr, bool) {
	list, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return netip.Addr{}, false
	}
	for _, m := range list {
		level, kind, n := m.Header.Level, m.Header.Type, len(m.Data)
		switch {
		case level == unix.IPPROTO_IP && kind == unix.IP_PKTINFO && n >= unix.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(m.Data[8:12])), true // ipi_ifindex, ipi_spec_dst, ipi_addr
		case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_PKTINFO && n >= unix.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(m.Data[:16])), true
		}
	}
	return netip.Addr{}, false
}

// answerFrom returns the ancillary data that sets the source of a datagram to the address that was asked: connected
// clients accept no other. The address comes from askedAddr, so its family is that of the socket; it may be missing.
func answerFrom(a netip.Addr) []byte {
	if !a.IsValid() {
		return nil
	}
	if a.Is4() {
		return unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: a.As4()})
	}
	return unix.PktInfo6(&unix.Inet6Pktinfo{Addr: a.As16()})
}
