package netns

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// skfNetOff makes the offsets of a classic filter relative to the network header: linux/filter.h SKF_NET_OFF.
const skfNetOff = uint32(0xfff00000)

// snap is the number of bytes of a packet that a tap keeps, enough for the headers.
const snap = 128

// tapFilter returns a filter that accepts the first packet of an attempt at a port without a socket of brig: a SYN
// without ACK, or a datagram. It drops packets to the jail's own addresses, which stay inside. Its offsets are those of
// headers that the kernel has validated.
func tapFilter(s Socket, served []uint16) []unix.SockFilter {
	var f filterBuilder
	if s.IPv6 {
		f.unlessIPv6()
	} else {
		f.unlessIPv4()
	}
	if s.Protocol == unix.IPPROTO_TCP {
		f.load(unix.BPF_B, 13, s.IPv6) // the flags: RFC 9293
		f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0x12)
		f.dropUnless(0x02)
	}
	f.load(unix.BPF_H, 2, s.IPv6) // the destination port
	for _, port := range served {
		f.dropIf(uint32(port))
	}
	return f.finish()
}

// filterBuilder builds a filter whose jumps lead to its last instruction, which drops the packet.
type filterBuilder struct {
	list  []unix.SockFilter
	drops map[int]bool // true: jumps if the comparison holds; false: if it does not
}

func (f *filterBuilder) add(code int, k uint32) {
	f.list = append(f.list, unix.SockFilter{Code: uint16(code), K: k})
}

func (f *filterBuilder) jump(k uint32, where bool) {
	if f.drops == nil {
		f.drops = map[int]bool{}
	}
	f.drops[len(f.list)] = where
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k)
}

func (f *filterBuilder) dropIf(k uint32)     { f.jump(k, true) }
func (f *filterBuilder) dropUnless(k uint32) { f.jump(k, false) }

// unlessIPv4 drops packets to 127.0.0.0/8 and to the jail's address, and loads the offset of the transport header.
func (f *filterBuilder) unlessIPv4() {
	const daddr = skfNetOff + 16
	f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, daddr)
	own := Own4.As4()
	f.dropIf(binary.BigEndian.Uint32(own[:]))
	f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xff000000)
	f.dropIf(127 << 24)
	f.add(unix.BPF_LDX|unix.BPF_B|unix.BPF_MSH, 0)
}

// unlessIPv6 drops packets to ::1 and to the jail's address, whose first 32 bits no other address has.
func (f *filterBuilder) unlessIPv6() {
	const daddr = skfNetOff + 24
	own := Own6.As16()
	f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, daddr)
	f.dropIf(binary.BigEndian.Uint32(own[:]))
	for word := uint32(0); word < 3; word++ { // if one is not zero, skip the test of the fourth
		equal := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0, Jf: uint8(6 - 2*word)}
		f.list = append(f.list, equal)
		f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, daddr+4*(word+1))
	}
	f.dropIf(1)
}

// load reads from the transport header. An IPv4 raw(7) socket filters the whole packet, an IPv6 one the bytes after the
// IP header.
func (f *filterBuilder) load(size int, offset uint32, ipv6 bool) {
	if ipv6 {
		f.add(unix.BPF_LD|size|unix.BPF_ABS, offset)
		return
	}
	f.add(unix.BPF_LD|size|unix.BPF_IND, offset)
}

func (f *filterBuilder) finish() []unix.SockFilter {
	f.add(unix.BPF_RET|unix.BPF_K, snap)
	f.add(unix.BPF_RET|unix.BPF_K, 0)
	for at, where := range f.drops {
		distance := uint8(len(f.list) - 2 - at)
		if where {
			f.list[at].Jt = distance
		} else {
			f.list[at].Jf = distance
		}
	}
	return f.list
}
