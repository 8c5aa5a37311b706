package netns

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"brig/internal/rig"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// The kernel takes each message, and a connection to any address reaches a listener of the namespace.
func TestKernelMakesEveryAddressLocal(t *testing.T) {
	if !rig.Enter(t, rig.AsRoot0) {
		return
	}
	everyAddressLocal(t)
	for _, c := range []struct{ network, listen, dial string }{
		{"tcp4", "0.0.0.0:443", "93.184.216.34:443"},
		{"tcp4", "0.0.0.0:53", "8.8.8.8:53"},
		{"tcp4", "0.0.0.0:80", "127.0.0.1:80"},
		{"tcp6", "[::]:443", "[2606:4700::34]:443"},
	} {
		if c.network == "tcp6" && !hasIPv6() {
			continue
		}
		from, at := meet(t, c.network, c.listen, c.dial)
		if at.String() != c.dial || from == at.Addr() && !at.Addr().IsLoopback() {
			t.Errorf("a connection to %s arrives at %s from %s", c.dial, at, from)
		}
	}
}

// A request that the kernel refuses has no good answer: recvfrom(2) fails, and with it the program.
func TestKernelsRefusalFailsTheProgram(t *testing.T) {
	if !rig.Enter(t, rig.AsRoot0) {
		return
	}
	everyAddressLocal(t)
	again := local(jailAddr4)[:1]
	if errs := send(t, unix.NETLINK_ROUTE, again, nil); !slices.Equal(errs, []error{unix.EEXIST}) {
		t.Errorf("the same address again: %v", errs)
	}
	if errs := send(t, unix.NETLINK_ROUTE, again, goodAnswers); !slices.Equal(errs, []error{unix.EAGAIN}) {
		t.Errorf("the same address again, behind the filter: %v", errs)
	}
	wrong := append(again, local(netip.MustParseAddr("10.9.9.9"))[1]) // not an address of lo
	if errs := send(t, unix.NETLINK_ROUTE, wrong, goodAnswers); !slices.Equal(errs, []error{unix.EAGAIN, unix.EAGAIN}) {
		t.Errorf("a source that is not local: %v", errs)
	}
}

// The nft rule brings connections to other hosts, and no others, to the catch-all listener.
func TestKernelRedirects(t *testing.T) {
	if !rig.Enter(t, rig.AsRoot0) {
		return
	}
	everyAddressLocal(t)
	list := append([]message{batch(batchBegin, "begin")}, table(nfProtoIPv4, loopback4, own4)...)
	list = append(append(list, table(nfProtoIPv6, loopback6, own6)...), batch(batchEnd, "commit"))
	for _, err := range send(t, unix.NETLINK_NETFILTER, list, nil) {
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPROTONOSUPPORT) {
			t.Skip("the kernel has no nat for nft")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for dial, port := range map[string]uint16{"93.184.216.34:443": catchAllPort, "8.8.8.8:17000": catchAllPort,
		"8.8.8.8:53": 53, "127.0.0.1:8080": 8080, jailAddr4.String() + ":8080": 8080} {
		listen := netip.AddrPortFrom(netip.IPv4Unspecified(), port).String()
		if _, at := meet(t, "tcp4", listen, dial); at.Port() != port {
			t.Errorf("a connection to %s arrives at %s", dial, at)
		}
	}
}

// A tap sees the attempts at ports without a listener, by the kernel's offsets.
func TestKernelShowsTapsTheAttempts(t *testing.T) {
	if !rig.Enter(t, rig.AsRoot0) {
		return
	}
	everyAddressLocal(t)
	l := must.Get(net.Listen("tcp4", "0.0.0.0:443"))(t)
	defer l.Close()
	for _, c := range []struct {
		network, dial string
		port          uint16 // that the tap sees; 0: none
	}{
		{"tcp4", "93.184.216.34:81", 81}, {"tcp4", "93.184.216.34:443", 0}, {"tcp4", "127.0.0.1:81", 0}, {"udp4", "8.8.8.8:5353", 5353},
		{"udp4", "8.8.8.8:443", 0}, {"tcp6", "[2606:4700::34]:81", 81}, {"tcp6", "[::1]:81", 0}, {"udp6", "[2606:4700::34]:9", 9},
	} {
		if c.network[3] == '6' && !hasIPv6() {
			continue
		}
		if got := tapped(t, c.network, c.dial); got != c.port {
			t.Errorf("%s %s: the tap sees port %d, want %d", c.network, c.dial, got, c.port)
		}
	}
}

// tapped returns the destination port that a tap sees of one attempt.
func tapped(t *testing.T, network, dial string) uint16 {
	t.Helper()
	s := Socket{Role: RoleTap, Protocol: unix.IPPROTO_TCP, IPv6: network[3] == '6'}
	if network[:3] == "udp" {
		s.Protocol = unix.IPPROTO_UDP
	}
	domain := unix.AF_INET
	if s.IPv6 {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC, s.Protocol)
	must.Do(t, err)
	defer unix.Close(fd)
	filter := tapFilter(s, []uint16{443})
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must.Do(t, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog))
	if c, err := net.DialTimeout(network, dial, time.Second); err == nil {
		_, _ = c.Write([]byte("x")) // a datagram is the attempt
		c.Close()
	}
	buf := make([]byte, snap)
	n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
	if err != nil {
		return 0
	}
	if !s.IPv6 {
		buf = buf[4*int(buf[0]&15) : n]
	}
	return binary.BigEndian.Uint16(buf[2:])
}

// meet connects to dial and returns where the connection comes from and where it arrives at a listener.
func meet(t *testing.T, network, listen, dial string) (from netip.Addr, at netip.AddrPort) {
	t.Helper()
	l := must.Get(net.Listen(network, listen))(t)
	defer l.Close()
	c := must.Get(net.DialTimeout(network, dial, 5*time.Second))(t)
	defer c.Close()
	in := must.Get(l.Accept())(t)
	defer in.Close()
	return in.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(), in.LocalAddr().(*net.TCPAddr).AddrPort()
}

// everyAddressLocal brings lo up and sends what anyIP writes.
func everyAddressLocal(t *testing.T) {
	t.Helper()
	fd := must.Get(unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	lo := must.Get(unix.NewIfreq("lo"))(t)
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	must.Do(t, unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
	list := local(jailAddr4)
	if hasIPv6() {
		list = append(list, local(jailAddr6)...)
	}
	if errs := send(t, unix.NETLINK_ROUTE, list, goodAnswers); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
}

func hasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		l.Close()
	}
	return err == nil
}

// send performs what exchange writes and returns the error in each answer, or that of recvfrom(2).
func send(t *testing.T, protocol int, list []message, filter []unix.SockFilter) (errs []error) {
	t.Helper()
	fd := must.Get(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol))(t)
	defer unix.Close(fd)
	if filter != nil {
		prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		must.Do(t, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog))
	}
	var all []byte
	for _, m := range list {
		all = append(all, m.bytes...)
	}
	must.Do(t, unix.Sendto(fd, all, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
	for _, m := range list {
		if !m.acked {
			continue
		}
		buf := make([]byte, 1024)
		n, _, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		if err == nil && n >= unix.SizeofNlMsghdr+4 {
			if code := -int32(binary.NativeEndian.Uint32(buf[unix.SizeofNlMsghdr:])); code != 0 {
				err = syscall.Errno(code)
			}
		}
		errs = append(errs, err)
	}
	return errs
}
