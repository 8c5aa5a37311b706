package netns

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets of a classic filter that are relative to the network header: linux/filter.h SKF_NET_OFF.
const (
	skfNetOff = uint32(0xfff00000)
	daddr4    = skfNetOff + 16
	daddr6    = skfNetOff + 24
)

// snap is the number of bytes of a packet that a tap keeps, enough for the headers.
const snap = 128

// Instructions of a classic filter.
const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	and      = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	accept   = unix.BPF_RET | unix.BPF_K
	drop     = 255 // stands for the distance to the last instruction, which drops the packet
)

// tapFilter returns a filter that accepts the first packet of an attempt at a port without a socket of brig: a SYN
// without ACK, or a datagram. It drops packets to the jail's own addresses, which stay inside. Its offsets are those of
// headers that the kernel has validated. An IPv4 raw(7) socket filters the whole packet, an IPv6 one the bytes after
// the IP header.
func tapFilter(s Socket, served []uint16) []unix.SockFilter {
	f, mode := unlessOwn4(), uint16(unix.BPF_LD|unix.BPF_IND)
	if s.IPv6 {
		f, mode = unlessOwn6(), unix.BPF_LD|unix.BPF_ABS
	}
	if s.Protocol == unix.IPPROTO_TCP {
		f = append(f, unix.SockFilter{Code: mode | unix.BPF_B, K: 13}, // the flags: RFC 9293
			unix.SockFilter{Code: and, K: 0x12}, unix.SockFilter{Code: equal, K: 0x02, Jf: drop})
	}
	f = append(f, unix.SockFilter{Code: mode | unix.BPF_H, K: 2}) // the destination port
	for _, port := range served {
		f = append(f, unix.SockFilter{Code: equal, K: uint32(port), Jt: drop})
	}
	f = append(f, unix.SockFilter{Code: accept, K: snap}, unix.SockFilter{Code: accept, K: 0})
	for i := range f {
		distance := uint8(len(f) - 2 - i)
		if f[i].Jt == drop {
			f[i].Jt = distance
		}
		if f[i].Jf == drop {
			f[i].Jf = distance
		}
	}
	return f
}

// unlessOwn4 drops packets to 127.0.0.0/8 and to the jail's address, and loads the offset of the transport header.
func unlessOwn4() []unix.SockFilter {
	return []unix.SockFilter{
		{Code: loadWord, K: daddr4},
		{Code: equal, K: binary.BigEndian.Uint32(jailAddr4.AsSlice()), Jt: drop},
		{Code: and, K: 0xff000000},
		{Code: equal, K: 127 << 24, Jt: drop},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 0},
	}
}

// unlessOwn6 drops packets to ::1 and to the jail's address, whose first 32 bits no other address has. If one of the
// first three words is not zero, the test of the fourth is skipped.
func unlessOwn6() []unix.SockFilter {
	return []unix.SockFilter{
		{Code: loadWord, K: daddr6},
		{Code: equal, K: binary.BigEndian.Uint32(jailAddr6.AsSlice()), Jt: drop},
		{Code: equal, K: 0, Jf: 6},
		{Code: loadWord, K: daddr6 + 4},
		{Code: equal, K: 0, Jf: 4},
		{Code: loadWord, K: daddr6 + 8},
		{Code: equal, K: 0, Jf: 2},
		{Code: loadWord, K: daddr6 + 12},
		{Code: equal, K: 1, Jt: drop},
	}
}
