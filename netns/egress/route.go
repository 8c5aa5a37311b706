package egress

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"

	"brig/netns/egress/policy"

	"golang.org/x/sys/unix"
)

const routeWait = 1 // seconds for the kernel's answer, which comes at once

// place asks the host's routing where an address is: ReasonNone stands for another host, ReasonOwnAddress for the host
// itself, ReasonBlocked for no single host (broadcast, multicast), and ReasonResources means that no descriptor was
// available for the request. A list of the addresses of the host's interfaces would be incomplete: a local route needs
// no address, and an address may be new. An address that cannot be looked up counts as the host's.
func place(a netip.Addr) policy.Reason {
	if a.IsLoopback() || a.IsUnspecified() {
		return policy.ReasonOwnAddress
	}
	return placeOf(routeType(a))
}

// placeOf is place for an answer of routeType.
func placeOf(kind byte, err error) policy.Reason {
	switch {
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH),
		errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EINVAL):
		return policy.ReasonNone // no route, or one that forbids it: connect(2) fails with the same error
	case exhausted(err):
		return policy.ReasonResources
	case err != nil, kind == unix.RTN_LOCAL:
		return policy.ReasonOwnAddress
	case kind == unix.RTN_UNICAST:
		return policy.ReasonNone
	}
	return policy.ReasonBlocked
}

// routeType returns the type of the route that the host would take: RTM_GETROUTE, rtnetlink(7).
func routeType(a netip.Addr) (byte, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	wait := syscall.Timeval{Sec: routeWait}
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &wait); err != nil {
		return 0, err
	}
	if err := syscall.Sendto(fd, routeRequest(a), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, err
	}
	buf := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, buf, 0)
	if err != nil {
		return 0, err
	}
	list, err := syscall.ParseNetlinkMessage(buf[:n])
	if err != nil {
		return 0, err
	}
	for _, m := range list {
		switch {
		case m.Header.Type == syscall.RTM_NEWROUTE && len(m.Data) >= syscall.SizeofRtMsg:
			return m.Data[7], nil // rtm_type
		case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
			return 0, syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
		}
	}
	return 0, errors.New("no answer about a route")
}

// routeRequest returns a struct nlmsghdr, a struct rtmsg and the attribute RTA_DST.
func routeRequest(a netip.Addr) []byte {
	family := byte(syscall.AF_INET)
	if a.Is6() {
		family = syscall.AF_INET6
	}
	ne := binary.NativeEndian
	dst := a.AsSlice()
	size := syscall.SizeofNlMsghdr + syscall.SizeofRtMsg + syscall.SizeofRtAttr + len(dst)
	b := ne.AppendUint32(nil, uint32(size))
	b = ne.AppendUint16(b, syscall.RTM_GETROUTE)
	b = ne.AppendUint16(b, syscall.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...)                                            // sequence number, port
	b = append(b, family, byte(len(dst)*8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)        // rtm_family, rtm_dst_len
	b = ne.AppendUint16(ne.AppendUint16(b, uint16(4+len(dst))), syscall.RTA_DST) // rta_len, rta_type
	return append(b, dst...)
}
