package egress

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/netns/egress/policy"
)

// withPacketInfo is a UDP socket as the jail's launcher makes them.
func withPacketInfo(t *testing.T, network string) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP(network, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := must.Get(c.SyscallConn())(t)
	_ = raw.Control(func(fd uintptr) {
		if network == "udp4" {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_PKTINFO, 1)
		} else {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IPV6, syscall.IPV6_RECVPKTINFO, 1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// udpClient is connected to 127.0.0.n: it takes answers from there only.
func udpClient(t *testing.T, c *net.UDPConn, n byte) *net.UDPConn {
	t.Helper()
	u, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, n), Port: c.LocalAddr().(*net.UDPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	_ = u.SetDeadline(time.Now().Add(20 * time.Second))
	return u
}

func ask(t *testing.T, c net.Conn, b []byte) []byte {
	t.Helper()
	must.Get(c.Write(b))(t)
	buf := make([]byte, 65535)
	n := must.Get(c.Read(buf))(t)
	return buf[:n]
}

func TestUDPSessions(t *testing.T) {
	for _, network := range []string{"udp4", "udp"} { // "udp" is dual-stack: IPv4 comes mapped
		t.Run(network, func(t *testing.T) { sessions(t, network) })
	}
}

func sessions(t *testing.T, network string) {
	r := newRig(t, policy.Policy{Allow: rules("udp://93.184.216.34:123")})
	r.s.udp = 200 * time.Millisecond
	r.s.udpWanted = func(to netip.AddrPort) netip.AddrPort {
		if to.Addr().As4()[3] == 5 {
			return netip.MustParseAddrPort("93.184.216.34:123")
		}
		return netip.MustParseAddrPort("93.184.216.35:123")
	}
	up := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	defer up.Close()
	go func() {
		buf := make([]byte, 65535)
		for {
			n, from, err := up.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = up.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	r.world[netip.MustParseAddrPort("93.184.216.34:123")] = addrPort(up.LocalAddr())
	jail := withPacketInfo(t, network)
	r.s.Serve(Sockets{UDP: []*net.UDPConn{jail}})
	one, two, bad := udpClient(t, jail, 5), udpClient(t, jail, 5), udpClient(t, jail, 6)
	for i := range 3 {
		if got := ask(t, one, []byte{1, byte(i)}); len(got) != 2 || got[1] != byte(i) {
			t.Errorf("%v", got)
		}
		if got := ask(t, two, make([]byte, 60000)); len(got) != 60000 {
			t.Errorf("%d", len(got))
		}
	}
	_, _ = bad.Write([]byte("x"))
	var sent int64
	for _, e := range r.wait(3) {
		sent += e.Sent
		if e.Kind != KindUDP || e.Sent != e.Received || e.Reason != "" && e.Reason != policy.ReasonUDP && e.Reason != policy.ReasonNoRule {
			t.Errorf("%+v", e)
		}
	}
	if sent != 180006 || r.s.lim.open.Load() != 0 {
		t.Errorf("%d bytes, %d open", sent, r.s.lim.open.Load())
	}
	r.end(3)
}

func TestUDPQuota(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("udp://93.184.216.34:123"), MaxConnectionBytes: 10})
	r.s.udpWanted = func(netip.AddrPort) netip.AddrPort { return netip.MustParseAddrPort("93.184.216.34:123") }
	up := withPacketInfo(t, "udp4")
	defer up.Close()
	r.world[netip.MustParseAddrPort("93.184.216.34:123")] = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addrPort(up.LocalAddr()).Port())
	jail := withPacketInfo(t, "udp4")
	r.s.Serve(Sockets{UDP: []*net.UDPConn{jail}})
	c := udpClient(t, jail, 5)
	_, _ = c.Write(make([]byte, 6))
	_, _ = c.Write(make([]byte, 6))
	if e := r.wait(1)[0]; e.Reason != policy.ReasonMaxBytes || e.Sent != 6 {
		t.Errorf("%+v", e)
	}
	r.end(-1)
}

// query asks for one type of a name.
func query(name string, kind uint16) []byte {
	b := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := ""; name != ""; {
		for i := 0; ; i++ {
			if i == len(name) || name[i] == '.' {
				label, name = name[:i], name[min(i+1, len(name)):]
				break
			}
		}
		b = append(append(b, byte(len(label))), label...)
	}
	return append(binary.BigEndian.AppendUint16(append(b, 0), kind), 0, 1)
}

func TestDNSOverBoth(t *testing.T) {
	r := newRig(t, policy.Policy{Allow: rules("a.test"), Deny: rules("evil.test")})
	r.s.destination = destination
	jail := withPacketInfo(t, "udp4")
	r.s.Serve(Sockets{DNS: jail, DNSTCP: r.jail})
	udp := udpClient(t, jail, 7)
	tcp := must.Get(net.Dial("tcp4", r.jail.Addr().String()))(t)
	defer tcp.Close()
	_ = tcp.SetDeadline(time.Now().Add(20 * time.Second))
	over := func(q []byte) []byte {
		_, _ = tcp.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...))
		var size [2]byte
		must.Get(io.ReadFull(tcp, size[:]))(t)
		b := make([]byte, binary.BigEndian.Uint16(size[:]))
		must.Get(io.ReadFull(tcp, b))(t)
		return b
	}
	for _, send := range []func([]byte) []byte{func(q []byte) []byte { return ask(t, udp, q) }, over} {
		a := send(query("a.test", 1))
		want, _ := r.s.pool.addr("a.test")
		if got := [4]byte(a[len(a)-4:]); a[3]&15 != 0 || got != want.As4() {
			t.Errorf("%x", a)
		}
		if a := send(query("a.test", 28)); a[3]&15 != 0 || a[7] != 0 {
			t.Errorf("%x", a)
		}
	}
	for _, name := range []string{"b.test", "evil.test", "bad name"} {
		for _, kind := range []uint16{1, 28, 65} { // one attempt
			if a := ask(t, udp, query(name, kind)); a[3]&15 != 3 {
				t.Errorf("%x", a)
			}
		}
	}
	over(query("b.test", 1)) // another
	all := r.wait(4)
	for i, want := range []policy.Reason{policy.ReasonNoRule, policy.ReasonDenied, policy.ReasonNameInvalid, policy.ReasonNoRule} {
		if e := all[i]; e.Kind != KindDNS || e.Reason != want || e.Port != 53 || i < 3 && e.Destination != "127.0.0.7:53" {
			t.Errorf("%d: %+v", i, e)
		}
	}
	r.end(4)
}
