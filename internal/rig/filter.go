package rig

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// bulkFilter accepts what H sends, but for what would fill the capture's buffer: the data of TCP connections to the
// good address, whose SYN the capture has seen.
func bulkFilter() []unix.SockFilter {
	good := netip.MustParseAddr(GoodAddr).As4()
	const (
		pktType = 0xfffff000 + 4 // SKF_AD_OFF + SKF_AD_PKTTYPE of linux/filter.h: packet(7) sll_pkttype
		load    = unix.BPF_LD | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	)
	return []unix.SockFilter{
		{Code: load | unix.BPF_B, K: pktType},
		{Code: equal, K: unix.PACKET_OUTGOING, Jf: 10}, // to H: drop
		{Code: load | unix.BPF_H, K: 12},
		{Code: equal, K: unix.ETH_P_IP, Jf: 7},
		{Code: load | unix.BPF_B, K: 14 + 9},
		{Code: equal, K: unix.IPPROTO_TCP, Jf: 5},
		{Code: load | unix.BPF_W, K: 14 + 16},
		{Code: equal, K: binary.BigEndian.Uint32(good[:]), Jf: 3},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 14 + 13},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 2, Jf: 1}, // no SYN: drop
		{Code: unix.BPF_RET | unix.BPF_K, K: 128},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
}
