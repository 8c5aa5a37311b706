package egress

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// packet is an IPv4 packet to a port of an address.
func packet(proto byte, to string, port uint16, seq byte, flags byte) []byte {
	b := make([]byte, 40)
	b[0], b[9] = 0x45, proto
	copy(b[12:], []byte{10, 0, 2, 100})
	a := netip.MustParseAddr(to).As4()
	copy(b[16:], a[:])
	b[20], b[21], b[22], b[23] = 0x80, 1, byte(port>>8), byte(port)
	b[27], b[33] = seq, flags
	return b
}

func TestTapLines(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test")})
	seen := map[probe]time.Time{}
	now := time.Now()
	name := r.to("a.test", 81).Addr().String()
	for _, c := range []struct {
		b    []byte
		line bool
	}{
		{packet(6, "8.8.8.8", 81, 1, 2), true},
		{packet(6, "8.8.8.8", 81, 1, 2), false}, // sent anew
		{packet(6, "8.8.8.8", 81, 2, 2), true},  // another attempt
		{packet(6, "8.8.8.8", 81, 3, 18), false},
		{packet(6, "8.8.8.8", 81, 3, 4), false},
		{packet(6, name, 81, 1, 2), true},
		{packet(17, name, 443, 1, 0), true},
		{packet(17, name, 443, 1, 0), false},
		{packet(1, "8.8.8.8", 81, 1, 2), false},
		{packet(6, "169.254.169.254", 81, 1, 2), true},
		{packet(6, "8.8.8.8", 81, 9, 2)[:39], false},
	} {
		p, ok := parseTap4(c.b)
		if got := ok && newAttempt(seen, p, now); got != c.line {
			t.Errorf("%x: %v", c.b, got)
		} else if got {
			r.s.logUnserved(p)
		}
	}
	all := r.end(5)
	for i, want := range []Event{{Kind: KindTCP, Reason: policy.ReasonNoRule}, {Kind: KindTCP, Reason: policy.ReasonNoRule}, {Kind: KindTCP, Reason: policy.ReasonPort, Name: "a.test"},
		{Kind: KindUDP, Reason: policy.ReasonUDP, Name: "a.test"}, {Kind: KindTCP, Reason: policy.ReasonMetadata}} {
		if e := all[i]; e.Kind != want.Kind || e.Reason != want.Reason || e.Name != want.Name || e.Verdict != VerdictDeny {
			t.Errorf("%+v", e)
		}
	}
}

// The runtime must hand out raw IPv4 packets with their header, SYNs included.
func TestTapReadsTheHeader(t *testing.T) {
	c, err := net.ListenIP("ip4:tcp", &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Skip("raw sockets need CAP_NET_RAW: ", err)
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if domain, proto, err := tapFamily(c); domain != syscall.AF_INET || proto != syscall.IPPROTO_TCP || err != nil {
		t.Errorf("%d %d %v", domain, proto, err)
	}
	gone := listenTCP(t)
	to := addrPort(gone.Addr())
	gone.Close()
	if _, err := net.Dial("tcp4", to.String()); err == nil {
		t.Error("somebody listens")
	}
	buf := make([]byte, tapPacket)
	for {
		n, _, _, _, err := c.ReadMsgIP(buf, make([]byte, ancillary))
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := parseTap4(buf[:n]); ok && p.to == to && p.from.Addr().IsLoopback() {
			return
		}
	}
}

func TestTapReadsAnything(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		b := make([]byte, g.IntN(80))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		if len(b) > 0 && g.IntN(2) == 0 {
			b[0] = 0x40 | b[0]&15
		}
		parseTap4(b)
		parseTransport(6, netip.Addr{}, netip.Addr{}, b)
	}
	seen := map[probe]time.Time{}
	for i := range 3 * tapFlows {
		newAttempt(seen, probe{seq: uint32(i)}, time.Now())
	}
	if len(seen) > tapFlows {
		t.Errorf("%d flows", len(seen))
	}
}

// A connection that meets a full accept queue leaves no line; it is counted in Unrecorded.
func TestFullAcceptQueueIsCounted(t *testing.T) {
	fd := must.Get(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))(t)
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	must.Do(t, errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 1)))
	l := must.Get(net.FileListener(f))(t)
	defer l.Close()
	waiting := []syscall.Conn{l.(*net.TCPListener)}
	for range 100 { // none is accepted
		c, err := net.DialTimeout("tcp4", l.Addr().String(), 10*time.Millisecond)
		if err == nil {
			defer c.Close()
		}
		if lostPackets(waiting) > 0 {
			return
		}
	}
	t.Error("100 connections to a queue of two, and none was dropped")
}
