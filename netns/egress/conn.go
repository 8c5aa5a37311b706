package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"brig/internal/sys"
	"brig/netns/egress/policy"
	"brig/netns/egress/wire"

	"golang.org/x/sys/unix"
)

const httpPort = 80

// conn is one connection out of the jail.
type conn struct {
	s     *Server
	c     *net.TCPConn
	to    netip.AddrPort
	name  string // "": the payload used an address
	d     policy.Decision
	f     *flow
	e     Event
	begin time.Time

	sending atomic.Bool
}

// arrived handles an accepted connection without blocking. It closes a connection beyond the limits.
func (s *Server) arrived(c *net.TCPConn, redirected bool) {
	k := &conn{s: s, c: c, begin: time.Now(), e: Event{Kind: KindTCP}}
	to, err := s.destination(c, redirected)
	if err != nil { // not redirected: the payload has connected to the catch-all's port itself
		k.e.Destination = c.LocalAddr().String()
		k.refuse(policy.ReasonPort)
		return
	}
	k.to = plainPort(to)
	k.e.Destination, k.e.Port = k.to.String(), k.to.Port()
	k.name, _ = s.pool.name(k.to.Addr())
	k.e.Name = k.name
	if r := s.lim.enter(); r != policy.ReasonNone {
		k.refuse(r)
		return
	}
	if !s.track(c) {
		s.lim.leave()
		k.refuse(policy.ReasonClosed)
		return
	}
	k.busy(true)
	s.wg.Go(func() {
		defer s.lim.leave()
		defer k.busy(false)
		defer s.untrack(c)
		k.serve()
	})
}

// destination returns the address that the peer connected to. It is the local address, since every address is local in
// the jail.
func destination(c *net.TCPConn, redirected bool) (to netip.AddrPort, err error) {
	local, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return to, errors.New("no local address")
	}
	if to = local.AddrPort(); !redirected {
		return to, nil
	}
	err = sys.Control(c, func(fd int) error {
		if to.Addr().Unmap().Is4() { // struct sockaddr_in: family, port, address
			b, err := syscall.GetsockoptIPv6Mreq(fd, unix.IPPROTO_IP, unix.SO_ORIGINAL_DST)
			if err == nil {
				m := b.Multiaddr
				to = netip.AddrPortFrom(netip.AddrFrom4([4]byte(m[4:8])), binary.BigEndian.Uint16(m[2:]))
			}
			return err
		}
		b, err := syscall.GetsockoptIPv6MTUInfo(fd, unix.IPPROTO_IPV6, unix.SO_ORIGINAL_DST)
		if err == nil { // it begins with a struct sockaddr_in6
			port := binary.NativeEndian.AppendUint16(nil, b.Addr.Port)
			to = netip.AddrPortFrom(netip.AddrFrom16(b.Addr.Addr), binary.BigEndian.Uint16(port))
		}
		return err
	})
	return to, err
}

// decide evaluates the policy. A synthetic address without a name is refused.
func (s *Server) decide(name string, to netip.AddrPort, udp bool) policy.Decision {
	switch {
	case name != "" && udp:
		return policy.Decision{Reason: policy.ReasonUDP}
	case name != "":
		return s.m.Host(name, to.Port())
	case synthetic(to.Addr()):
		return policy.Decision{Reason: policy.ReasonNoRule}
	}
	return s.m.Addr(to.Addr(), to.Port(), udp)
}

func (k *conn) serve() {
	k.d = k.s.decide(k.name, k.to, false)
	k.f = newFlow(k.s.ctx, k.s.lim, k.s.idle)
	k.e.Rule = k.d.Text
	switch {
	case k.d.Allow && k.d.Mode == policy.ModeHTTP, !k.d.Allow && k.to.Port() == httpPort:
		k.e.Kind = KindHTTP
		k.serveHTTP()
	case !k.d.Allow:
		k.refuse(k.d.Reason)
	case k.d.Mode == policy.ModeTLS:
		k.e.Kind = KindTLS
		k.serveTLS()
	default:
		k.relay(nil)
	}
}

// refuse ends the connection with an RST and writes its line.
func (k *conn) refuse(r policy.Reason) {
	reset(k.c)
	k.e.Verdict, k.e.Reason = verdictOf(r), r
	k.done()
}

// done writes the connection's line.
func (k *conn) done() {
	if k.f != nil {
		k.e.Sent, k.e.Received = k.f.sent.Load(), k.f.received.Load()
	}
	k.e.DurationMS = milliseconds(time.Since(k.begin))
	k.s.log.add(k.e)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// dial connects to the server. list is the vetted addresses of an earlier dial, or nil.
func (k *conn) dial(list []netip.AddrPort) (_ *net.TCPConn, _ []netip.AddrPort, failed *failure) {
	defer func() {
		if failed != nil && k.s.ctx.Err() != nil {
			failed.reason = policy.ReasonClosed
		}
	}()
	ctx, cancel := context.WithTimeout(k.s.ctx, k.s.dialer.timeout)
	defer cancel()
	if k.s.lim.bytes.spent() {
		return nil, list, &failure{reason: policy.ReasonMaxBytes}
	}
	vet := k.s.dialer.vetName
	if k.name == "" {
		vet = func(to netip.AddrPort) policy.Reason { return k.s.dialer.vetAddr(to, false) }
		list = []netip.AddrPort{k.to}
	}
	if list == nil {
		if r := k.s.lim.name(k.name, &k.d); r != policy.ReasonNone {
			return nil, nil, &failure{reason: r}
		}
		if list, failed = k.s.dialer.candidates(ctx, k.name, k.to.Port()); failed != nil {
			return nil, nil, failed
		}
	}
	c, to, failed := k.s.dialer.connect(ctx, "tcp", list, vet)
	if failed != nil {
		return nil, list, failed
	}
	up, ok := c.(*net.TCPConn)
	if !ok || !k.s.track(c) {
		_ = c.Close() // it cannot be relayed, or the server is closing
		return nil, list, &failure{policy.ReasonConnectFailed, to.String()}
	}
	k.e.Address = to.String()
	return up, list, nil
}

// relay connects, sends the bytes already read and copies until both sides have ended.
func (k *conn) relay(first []byte) {
	up, _, failed := k.dial(nil)
	if failed != nil {
		k.e.Address = failed.address
		k.refuse(failed.reason)
		return
	}
	defer k.s.untrack(up)
	k.e.Verdict = VerdictAllow
	in, out := k.f.side(k.c, &k.f.received), k.f.side(up, &k.f.sent)
	var err error
	if len(first) > 0 {
		err = k.f.write(out, first)
	}
	if err == nil {
		first = nil // frees up to 64 KiB for the rest of the connection
		err = k.f.pipe(in, out)
	}
	if err != nil {
		reset(k.c)
		reset(up)
	}
	k.e.Reason = k.ended(err)
	k.done()
}

// ended returns the reason why this server ended a relay, or ReasonNone if a peer ended it.
func (k *conn) ended(err error) policy.Reason {
	switch {
	case err == nil:
		return policy.ReasonNone
	case k.s.ctx.Err() != nil:
		return policy.ReasonClosed
	case errors.Is(err, errIdle):
		return policy.ReasonIdleTimeout
	case errors.Is(err, errMaxBytes):
		return policy.ReasonMaxBytes
	}
	return policy.ReasonNone
}

// serveTLS reads the ClientHello and checks the name in it.
func (k *conn) serveTLS() {
	h := &wire.Hello{}
	r := k.hello(h)
	k.e.SNI = h.SNI
	if sni, ok := policy.NormalizeName(h.SNI); r == policy.ReasonNone && (!ok || sni != k.name) {
		r = policy.ReasonSNIMismatch
	}
	if r != policy.ReasonNone {
		k.refuse(r)
		return
	}
	first := h.Bytes()
	h = nil
	k.relay(first)
}

// hello reads until the ClientHello is complete.
func (k *conn) hello(h *wire.Hello) policy.Reason {
	if err := k.c.SetReadDeadline(time.Now().Add(k.s.head)); err != nil {
		return policy.ReasonClosed
	}
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	for {
		n, err := k.c.Read(buf[:])
		if n > 0 {
			switch done, err := h.Feed(buf[:n]); {
			case done:
				return policy.ReasonNone
			case err != nil:
				return reasonOf(err, policy.ReasonNotTLS)
			}
		}
		if err != nil {
			return k.unread(err, len(h.Bytes()) > 0, policy.ReasonNotTLS)
		}
	}
}

// unread returns the reason for a head that is not complete.
func (k *conn) unread(err error, begun bool, bad policy.Reason) policy.Reason {
	switch {
	case k.s.ctx.Err() != nil:
		return policy.ReasonClosed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return policy.ReasonSlow
	case begun && (err == io.EOF || err == io.ErrUnexpectedEOF):
		return bad
	}
	return policy.ReasonClosed
}

// reasonOf returns the Reason of an error of package wire, else otherwise.
func reasonOf(err error, otherwise policy.Reason) policy.Reason {
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return bad.Reason
	}
	return otherwise
}
