package egress

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// ancillary is room for the packet information of both families: ip(7), ipv6(7).
const ancillary = 128

// askedAddr is the destination in a datagram's header, out of its ancillary data.
func askedAddr(oob []byte) (netip.Addr, bool) {
	list, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return netip.Addr{}, false
	}
	for _, m := range list {
		switch {
		case m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_PKTINFO && len(m.Data) >= syscall.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(m.Data[8:12])), true // ipi_ifindex, ipi_spec_dst, ipi_addr
		case m.Header.Level == syscall.IPPROTO_IPV6 && m.Header.Type == syscall.IPV6_PKTINFO && len(m.Data) >= syscall.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(m.Data[:16])), true
		}
	}
	return netip.Addr{}, false
}

// answerFrom is the ancillary data that has a datagram sent from the address that was asked: connected clients take no
// other. The address comes from askedAddr, so that its family is the one that the socket speaks.
func answerFrom(a netip.Addr) []byte {
	if a.Is4() {
		data := make([]byte, syscall.SizeofInet4Pktinfo)
		copy(data[4:8], a.AsSlice())
		return controlMessage(syscall.IPPROTO_IP, syscall.IP_PKTINFO, data)
	}
	data := make([]byte, syscall.SizeofInet6Pktinfo)
	copy(data, a.AsSlice())
	return controlMessage(syscall.IPPROTO_IPV6, syscall.IPV6_PKTINFO, data)
}

// controlMessage lays out one struct cmsghdr and its data.
func controlMessage(level, kind uint32, data []byte) []byte {
	b := make([]byte, syscall.CmsgSpace(len(data)))
	if syscall.SizeofCmsghdr == 16 { // size_t cmsg_len
		binary.NativeEndian.PutUint64(b, uint64(syscall.CmsgLen(len(data))))
	} else {
		binary.NativeEndian.PutUint32(b, uint32(syscall.CmsgLen(len(data))))
	}
	binary.NativeEndian.PutUint32(b[syscall.SizeofCmsghdr-8:], level)
	binary.NativeEndian.PutUint32(b[syscall.SizeofCmsghdr-4:], kind)
	copy(b[syscall.CmsgLen(0):], data)
	return b
}
