package egress

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"brig/internal/sys"
	"brig/netns/egress/policy"

	"golang.org/x/sys/unix"
)

const (
	publishConnect = 10 * time.Second // for connect(2) inside the jail, and for the last bytes to it
	connectStep    = 100              // milliseconds after which a waiting connect(2) sees that the server closes
)

// Published is a port of the host that is relayed into the jail.
type Published struct {
	// Listener listens in the host's network.
	Listener *net.TCPListener
	// To is the destination in the jail.
	To netip.AddrPort
	// Conns are unconnected TCP sockets of the jail's namespace, of To's family. Each serves one connection at a time
	// and is reused, so that the keeper need not enter the namespace. Further connections wait in the listener's queue.
	Conns []*os.File
}

// publish serves one port.
func (s *Server) publish(p Published) {
	if !s.track(p.Listener) || len(p.Conns) == 0 {
		_ = p.Listener.Close() // refuse at once instead of queueing connections that are never served
	}
	for _, f := range p.Conns {
		s.wg.Go(func() {
			defer f.Close() // not before: its descriptor is used by number
			s.servePublished(p, f)
		})
	}
}

// servePublished relays connections into the jail, one after the other, until the listener is closed.
func (s *Server) servePublished(p Published, f *os.File) {
	for {
		c, err := p.Listener.AcceptTCP()
		switch {
		case err == nil && s.track(c):
			s.relayPublished(p, f, c)
			s.untrack(c)
		case err == nil, s.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return
		default:
			s.pause(acceptPause)
		}
	}
}

// relayPublished relays one connection into the jail.
func (s *Server) relayPublished(p Published, f *os.File, c *net.TCPConn) {
	k := &conn{s: s, c: c, begin: time.Now(), f: newFlow(s.ctx, s.lim, s.idle)}
	k.e = Event{Kind: KindPublish, Address: p.To.String(), Destination: c.LocalAddr().String(), Port: p.To.Port()}
	defer disconnect(f)
	k.busy(true)
	defer k.busy(false)
	jail, err := s.intoJail(f, p.To)
	if err != nil {
		reason := policy.ReasonConnectFailed
		switch {
		case s.ctx.Err() != nil:
			reason = policy.ReasonClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			reason = policy.ReasonConnectTimeout
		}
		k.refuse(reason)
		return
	}
	k.e.Verdict = VerdictAllow
	k.f.allSent = func() { k.forwardedAll(c) }
	err = k.f.pipe(k.f.side(jail, &k.f.received), k.f.side(c, &k.f.sent))
	if err == nil {
		s.drained(jail)
	}
	s.untrack(jail)
	k.e.Reason = k.ended(err)
	k.done()
}

// intoJail connects f. The net.TCPConn has a duplicate descriptor of the same socket, since f is reused.
func (s *Server) intoJail(f *os.File, to netip.AddrPort) (*net.TCPConn, error) {
	if err := sys.Control(f, func(fd int) error { return s.connect(fd, to) }); err != nil {
		return nil, err
	}
	generic, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	c, ok := generic.(*net.TCPConn)
	if !ok || !s.track(generic) {
		return nil, errors.Join(errors.New("not a TCP socket, or closed"), generic.Close())
	}
	return c, nil
}

// connect calls connect(2) and waits for its end. Inside a jail that takes time only if its server's queue is full.
func (s *Server) connect(fd int, to netip.AddrPort) error {
	var sa unix.Sockaddr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	if to.Addr().Is4() {
		sa = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	err := unix.Connect(fd, sa)
	if err != unix.EINPROGRESS && err != unix.EINTR {
		return err
	}
	for end := time.Now().Add(publishConnect); time.Now().Before(end) && s.ctx.Err() == nil; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, connectStep)
		if n <= 0 && (err == nil || err == unix.EINTR) {
			continue
		}
		code, failed := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if code != 0 {
			return unix.Errno(code)
		}
		return errors.Join(err, failed)
	}
	return os.ErrDeadlineExceeded
}

// drained waits until the jail has received the last bytes: a disconnect discards unsent data.
func (s *Server) drained(jail *net.TCPConn) {
	end := time.Now().Add(publishConnect)
	for d := 100 * time.Microsecond; time.Now().Before(end) && s.ctx.Err() == nil; d = min(2*d, 20*time.Millisecond) {
		closed := true
		_ = sys.Control(jail, func(fd int) error { // TCP_INFO, tcp(7)
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			closed = err == nil && info.State == unix.BPF_TCP_CLOSE
			return err
		})
		if closed {
			return
		}
		s.pause(d)
	}
}

// disconnect makes f an unconnected socket again: connect(2) with AF_UNSPEC.
func disconnect(f *os.File) {
	_ = sys.Control(f, func(fd int) error { // fails only if it is no socket
		var unspec [16]byte // struct sockaddr, sa_family AF_UNSPEC
		_, _, _ = syscall.Syscall(syscall.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspec)),
			unsafe.Sizeof(unspec))
		return nil
	})
}
