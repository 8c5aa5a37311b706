package rig

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// bulkFilter drops what would fill the capture's buffer: packets to H, and the data of TCP connections to the good
// address, whose SYN the capture has seen. It accepts all other packets.
func bulkFilter(own net.HardwareAddr) []unix.SockFilter {
	good := netip.MustParseAddr(GoodAddr).As4()
	const (
		load  = unix.BPF_LD | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	)
	return []unix.SockFilter{
		{Code: load | unix.BPF_W, K: 0},
		{Code: equal, K: binary.BigEndian.Uint32(own), Jf: 2},
		{Code: load | unix.BPF_H, K: 4},
		{Code: equal, K: uint32(binary.BigEndian.Uint16(own[4:])), Jt: 10}, // to H: drop
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
