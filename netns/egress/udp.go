package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"brig/internal/sys"
	"brig/netns/egress/policy"
)

// maxDatagram is the largest datagram in bytes.
const maxDatagram = 65535

var datagrams = sync.Pool{New: func() any { return new([maxDatagram]byte) }}

// association is the key of a session: its source and destination.
type association struct{ from, to netip.AddrPort }

// session is one association with a connected socket in the host's network.
type session struct {
	patience
	association
	up    *net.UDPConn
	e     Event
	begin time.Time
}

// datagramRelay serves one socket of the jail.
type datagramRelay struct {
	s    *Server
	c    *net.UDPConn
	mu   sync.Mutex
	open map[association]*session
}

// receive calls handle for each datagram with its source and, if it is known, the address to which it was sent.
func (s *Server) receive(c *net.UDPConn, size int, handle func(b []byte, from netip.AddrPort, to netip.Addr)) {
	buf, oob := make([]byte, size), make([]byte, ancillary)
	s.reader(c, func() error {
		n, oobn, _, from, err := c.ReadMsgUDPAddrPort(buf, oob)
		if err == nil {
			to, _ := askedAddr(oob[:oobn])
			handle(buf[:n], from, to)
		}
		return err
	})
}

// serveUDP relays datagrams.
func (s *Server) serveUDP(c *net.UDPConn) {
	r := &datagramRelay{s: s, c: c, open: map[association]*session{}}
	port := c.LocalAddr().(*net.UDPAddr).AddrPort().Port() // package net documents this type
	s.receive(c, maxDatagram, func(b []byte, from netip.AddrPort, to netip.Addr) {
		if to.IsValid() {
			r.datagram(b, association{from, netip.AddrPortFrom(to, port)})
		}
	})
}

// datagram sends one datagram through its session.
func (r *datagramRelay) datagram(b []byte, key association) {
	r.mu.Lock()
	x := r.open[key]
	r.mu.Unlock()
	if x == nil {
		if x = r.begin(key); x == nil {
			return
		}
	}
	n := int64(len(b))
	if got := x.f.take(n); got < n {
		x.f.give(got)
		x.deadline(x.f.begin) // wakes the session, which ends
		return
	}
	if !r.s.lim.bandwidth.try(float64(n), time.Now()) {
		x.f.give(n)
		return // drop it as a full queue would: the others must not wait
	}
	x.f.touch()
	if x.up.SetWriteDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	if m, err := x.up.Write(b); err == nil { // an error concerns an earlier datagram, or this one is lost
		x.f.sent.Add(int64(m))
	}
}

// begin opens a session. If it is refused, begin writes a line and returns nil.
func (r *datagramRelay) begin(key association) *session {
	s, to := r.s, plainPort(key.to)
	if s.udpWanted != nil {
		to = s.udpWanted(to)
	}
	x := &session{association: key, begin: time.Now(), e: Event{Kind: KindUDP, Destination: to.String(), Port: to.Port()}}
	x.e.Name, _ = s.pool.name(to.Addr())
	if why := r.connect(x, to); why != policy.ReasonNone {
		x.e.Verdict, x.e.Reason = verdictOf(why), why
		s.log.add(x.e)
		return nil
	}
	x.e.Verdict = VerdictAllow
	r.mu.Lock()
	r.open[key] = x
	r.mu.Unlock()
	s.wg.Go(func() { r.serve(x) })
	return x
}

// connect connects a session to the server, or returns why that is refused.
func (r *datagramRelay) connect(x *session, to netip.AddrPort) policy.Reason {
	s := r.s
	d := s.decide(x.e.Name, to, true)
	x.e.Rule = d.Text
	switch {
	case !d.Allow:
		return d.Reason
	case s.lim.bytes.spent():
		return policy.ReasonMaxBytes
	}
	if why := s.lim.enter(); why != policy.ReasonNone {
		return why
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.dialer.timeout)
	defer cancel()
	vet := func(to netip.AddrPort) policy.Reason { return s.dialer.vetAddr(to, true) }
	c, at, failed := s.dialer.connect(ctx, "udp", []netip.AddrPort{to}, vet)
	if failed != nil {
		s.lim.leave()
		x.e.Address = failed.address
		return failed.reason
	}
	up, ok := c.(*net.UDPConn)
	if !ok || !s.track(c) {
		s.lim.leave()
		_ = c.Close() // no UDP socket, or the server is closed
		return policy.ReasonClosed
	}
	x.e.Address = at.String()
	x.up, x.f, x.read = up, newFlow(s.ctx, s.lim, s.udp), up
	return policy.ReasonNone
}

// serve forwards the answers until the session is idle, and writes its line.
func (r *datagramRelay) serve(x *session) {
	x.e.Reason = r.back(x)
	r.mu.Lock()
	delete(r.open, x.association)
	r.mu.Unlock()
	r.s.untrack(x.up)
	r.s.lim.leave()
	x.e.Sent, x.e.Received = x.f.sent.Load(), x.f.received.Load()
	x.e.DurationMS = milliseconds(time.Since(x.begin))
	r.s.log.add(x.e)
}

// back forwards datagrams until the session ends. An ICMP error about an earlier datagram does not end it.
func (r *datagramRelay) back(x *session) policy.Reason {
	raw, err := x.up.SyscallConn()
	if err != nil {
		return policy.ReasonClosed
	}
	info := answerFrom(x.to.Addr())
	for {
		err := x.wait(func() error { return r.one(raw, x, info) })
		switch {
		case errors.Is(err, errMaxBytes), errors.Is(err, os.ErrDeadlineExceeded):
			return policy.ReasonMaxBytes // datagram sets a deadline if no bytes are left
		case r.s.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return policy.ReasonClosed
		case errors.Is(err, errIdle):
			return policy.ReasonNone // the usual end of a session
		}
	}
}

// one waits for one datagram and forwards it. It holds no buffer while it waits.
func (r *datagramRelay) one(raw syscall.RawConn, x *session, info []byte) error {
	var buf *[maxDatagram]byte
	n, failed := 0, error(nil)
	err := raw.Read(func(fd uintptr) bool {
		buf = datagrams.Get().(*[maxDatagram]byte)
		if n, failed = sys.Read(int(fd), buf[:]); failed == syscall.EAGAIN {
			datagrams.Put(buf)
			buf = nil
			return false
		}
		return true
	})
	if buf != nil {
		defer datagrams.Put(buf)
	}
	if err != nil || failed != nil {
		return err // failed concerns an earlier datagram
	}
	if got := x.f.take(int64(n)); got < int64(n) {
		x.f.give(got)
		return errMaxBytes
	}
	if err := r.c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, _, err := r.c.WriteMsgUDPAddrPort(buf[:n], info, x.from); err == nil { // otherwise it is lost
		x.f.received.Add(int64(n))
	}
	return x.f.pace(n)
}
