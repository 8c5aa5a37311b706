package egress

import (
	"encoding/binary"

	"brig/netns/egress/wire"

	"golang.org/x/sys/unix"
)

// LookedUp returns the name in a message of the socket of netns.Loopback: an error of ICMP that quotes a question to a
// resolver on lo (RFC 792, 1035). Zeros may follow it. LookedUp returns "" for any other. A payload can send all of
// them.
func LookedUp(message []byte) (name string) {
	const unreachable, port, resolver = 3, 3, 53
	_, icmp := quotedPacket(message, unix.IPPROTO_ICMP)
	if len(icmp) < 8 || icmp[0] != unreachable || icmp[1] != port {
		return ""
	}
	to, udp := quotedPacket(icmp[8:], unix.IPPROTO_UDP)
	if len(udp) < 8 || to != 127 || binary.BigEndian.Uint16(udp[2:]) != resolver {
		return ""
	}
	wire.Answer(udp[8:], func(n string) bool { // it is called with a valid name only
		name = n
		return false
	}, nil)
	return name
}

// quotedPacket returns the first byte of the destination of a packet of IPv4, and what it has of the protocol. It
// returns nil for anything else.
func quotedPacket(b []byte, protocol byte) (to byte, rest []byte) {
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != protocol {
		return 0, nil
	}
	head, size := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || size < head || size > len(b) {
		return 0, nil
	}
	return b[16], b[head:size]
}
