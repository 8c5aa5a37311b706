package netns

import (
	"encoding/binary"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brig/internal/program"
	"brig/internal/test/golden"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// What is opened, in which order, is what explain prints: one file a kind of namespace.
func TestSocketsArePlanned(t *testing.T) {
	for name, c := range map[string]Sockets{
		"ports":   {Egress: true, IPv6: true, TCP: []uint16{80, 443}, UDP: []uint16{123}},
		"ipv4":    {Egress: true, TCP: []uint16{80}},
		"all":     {Egress: true, IPv6: true, All: true},
		"publish": {Dial: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := program.New(2)
			c.Open(p, 280)
			golden.File(t, filepath.Join("testdata", name+".txt"), p.String())
			if _, err := p.Encode(program.Request{Cgroup: -1}); err != nil {
				t.Error(err)
			}
			if s := p.Open("after", 0); s != 2 {
				t.Errorf("the next slot is %d: one was not closed", s)
			}
			for _, o := range p.Ops {
				if o.Trial {
					t.Errorf("%s may fail: a jail without it would pass for one with it", o.Call())
				}
			}
		})
	}
}

// Two plans for the same jail are the same bytes: the library's sequence numbers must not be in them.
func TestMessagesAreRepeatable(t *testing.T) {
	encode := func() string {
		p := program.New(2)
		(&Sockets{Egress: true, IPv6: true, All: true}).Open(p, 280)
		b := must.Get(p.Encode(program.Request{Cgroup: -1}))(t)
		return string(b)
	}
	if first, second := encode(), encode(); first != second {
		t.Error("they differ")
	}
}

// A request is read back as the kernel would read it.
func TestMessagesAreWellFormed(t *testing.T) {
	list := append(local(jailAddr6), local(jailAddr4)...)
	list = append(list, table(nfProtoIPv6, loopback6, own6)...)
	for _, m := range list {
		parsed, err := syscall.ParseNetlinkMessage(m.bytes)
		if err != nil || len(parsed) != 1 {
			t.Fatalf("%s: %d messages, %v", m.text, len(parsed), err)
		}
		h := parsed[0].Header
		if h.Flags&unix.NLM_F_ACK == 0 || h.Flags&unix.NLM_F_REQUEST == 0 || int(h.Len) != len(m.bytes) || len(m.bytes)%4 != 0 {
			t.Errorf("%s: flags %#x, length %d of %d", m.text, h.Flags, h.Len, len(m.bytes))
		}
	}
}

// The filters of taps, on packets that were made by hand.
func TestTapsSeeAttemptsOnly(t *testing.T) {
	served := []uint16{80, 443}
	for _, c := range []struct {
		name   string
		proto  int
		dst    string
		port   uint16
		flags  byte
		passes bool
	}{
		{"a SYN to a port where nobody listens", unix.IPPROTO_TCP, "8.8.8.8", 8080, 0x02, true},
		{"with other flags beside it", unix.IPPROTO_TCP, "8.8.8.8", 8080, 0xc2, true},
		{"a SYN to a listener", unix.IPPROTO_TCP, "8.8.8.8", 443, 0x02, false},
		{"the answer to a SYN", unix.IPPROTO_TCP, "8.8.8.8", 8080, 0x12, false},
		{"data", unix.IPPROTO_TCP, "8.8.8.8", 8080, 0x18, false},
		{"to the loopback", unix.IPPROTO_TCP, "127.0.0.1", 8080, 0x02, false},
		{"to the loopback's other end", unix.IPPROTO_TCP, "127.255.255.254", 8080, 0x02, false},
		{"to the jail's own address", unix.IPPROTO_TCP, jailAddr4.String(), 8080, 0x02, false},
		{"to its neighbour", unix.IPPROTO_TCP, "10.0.2.101", 8080, 0x02, true},
		{"a datagram", unix.IPPROTO_UDP, "8.8.8.8", 5353, 0, true},
		{"a datagram to a served port", unix.IPPROTO_UDP, "8.8.8.8", 80, 0, false},
		{"IPv6: a SYN", unix.IPPROTO_TCP, "2001:db8::1", 8080, 0x02, true},
		{"IPv6: to a listener", unix.IPPROTO_TCP, "2001:db8::1", 80, 0x02, false},
		{"IPv6: loopback", unix.IPPROTO_TCP, "::1", 8080, 0x02, false},
		{"IPv6: next to the loopback", unix.IPPROTO_TCP, "::2", 8080, 0x02, true},
		{"IPv6: one in the third word", unix.IPPROTO_UDP, "::1:0:1", 8080, 0, true},
		{"IPv6: one in the second word", unix.IPPROTO_UDP, "0:0:1::1", 8080, 0, true},
		{"IPv6: the jail's own", unix.IPPROTO_UDP, jailAddr6.String(), 8080, 0, false},
		{"IPv6: a datagram", unix.IPPROTO_UDP, "fd00::1", 53, 0, true},
	} {
		s := Socket{Role: RoleTap, Protocol: c.proto, IPv6: strings.Contains(c.dst, ":")}
		if got := passes(t, tapFilter(s, served), packet(s, c.dst, c.port, c.flags), s.IPv6); got != c.passes {
			t.Errorf("%s (%s port %d): passes %v", c.name, c.dst, c.port, got)
		}
	}
}

// A filter must fit: jumps are 8 bits wide.
func TestTapOfManyPorts(t *testing.T) {
	var served []uint16
	for i := range 200 {
		served = append(served, uint16(1000+i))
	}
	s := Socket{Role: RoleTap, Protocol: unix.IPPROTO_TCP, IPv6: true}
	f := tapFilter(s, served)
	for i, port := range served {
		if passes(t, f, packet(s, "2001:db8::1", port, 2), true) {
			t.Fatalf("port %d, the %d-th, passes", port, i+1)
		}
	}
	if !passes(t, f, packet(s, "2001:db8::1", 999, 2), true) {
		t.Error("another port does not")
	}
}

func packet(s Socket, dst string, port uint16, flags byte) []byte {
	ip := netip.MustParseAddr(dst).AsSlice()
	head := make([]byte, 24) // an IPv4 header with an option
	head[0] = 0x46
	copy(head[16:], ip)
	if s.IPv6 {
		head = make([]byte, 40)
		copy(head[24:], ip)
	}
	transport := make([]byte, 20)
	binary.BigEndian.PutUint16(transport[2:], port)
	transport[13] = flags
	return append(head, transport...)
}

// passes runs a classic filter as the kernel does. An IPv6 raw socket counts from the transport header.
func passes(t *testing.T, f []unix.SockFilter, pkt []byte, ipv6 bool) bool {
	t.Helper()
	base := 0
	if ipv6 {
		base = 40
	}
	var a, x uint32
	for pc := 0; pc < len(f); pc++ {
		i := f[pc]
		at := base + int(i.K)
		if i.K >= skfNetOff {
			at = int(i.K - skfNetOff)
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.BigEndian.Uint32(pkt[at:])
		case unix.BPF_LD | unix.BPF_H | unix.BPF_ABS:
			a = uint32(binary.BigEndian.Uint16(pkt[at:]))
		case unix.BPF_LD | unix.BPF_B | unix.BPF_ABS:
			a = uint32(pkt[at])
		case unix.BPF_LD | unix.BPF_H | unix.BPF_IND:
			a = uint32(binary.BigEndian.Uint16(pkt[at+int(x):]))
		case unix.BPF_LD | unix.BPF_B | unix.BPF_IND:
			a = uint32(pkt[at+int(x)])
		case unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH:
			x = 4 * uint32(pkt[at]&0xf)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if a == i.K {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return i.K > 0
		default:
			t.Fatalf("instruction %d: %#x", pc, i.Code)
		}
	}
	t.Fatal("the filter has no end")
	return false
}
