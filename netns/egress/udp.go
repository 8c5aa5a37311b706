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
	up    *net.UDPConn
	f     *flow
	e     Event
	begin time.Time
}

// datagramRelay serves one socket of the jail.
type datagramRelay struct {
	s    *Server
	c    *net.UDPConn
	port uint16
	mu   sync.Mutex
	open map[association]*session
}

// serveUDP relays datagrams until the socket is closed.
func (s *Server) serveUDP(c *net.UDPConn) {
	r := &datagramRelay{s: s, c: c, open: map[association]*session{}}
	if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
		r.port = uint16(a.Port)
	}
	buf, oob := make([]byte, maxDatagram), make([]byte, ancillary)
	for {
		n, oobn, _, from, err := c.ReadMsgUDPAddrPort(buf, oob)
		if err != nil {
			if s.hushed.Load() {
				return
			}
			s.pause(acceptPause)
			continue
		}
		if to, ok := askedAddr(oob[:oobn]); ok {
			r.datagram(buf[:n], from, to)
		}
	}
}

// datagram sends one datagram through its session.
func (r *datagramRelay) datagram(b []byte, from netip.AddrPort, to netip.Addr) {
	key := association{from, netip.AddrPortFrom(to, r.port)}
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
		x.f.stop.Store(true)
		_ = x.up.SetReadDeadline(time.Unix(0, 1)) // wakes the session, which ends
		return
	}
	if bw := r.s.lim.bandwidth; bw != nil && !bw.try(float64(n), time.Now()) {
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
	s, to := r.s, netip.AddrPortFrom(plainAddr(key.to.Addr()), key.to.Port())
	if s.udpWanted != nil {
		to = s.udpWanted(to)
	}
	e := Event{Kind: KindUDP, Destination: to.String(), Port: to.Port()}
	e.Name, _ = s.pool.Name(to.Addr())
	refuse := func(v Verdict, why Reason) *session {
		e.Verdict, e.Reason = v, why
		s.log.add(e)
		return nil
	}
	d := s.decide(e.Name, to, true)
	e.Rule = d.Text
	if !d.Allow {
		return refuse(VerdictDeny, d.Reason)
	}
	if q := s.lim.bytes; q != nil && q.left.Load() <= 0 {
		return refuse(VerdictDeny, policy.ReasonMaxBytes)
	}
	if why := s.lim.enter(); why != policy.ReasonNone {
		return refuse(verdictOf(why), why)
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.dialer.timeout)
	defer cancel()
	vet := func(to netip.AddrPort) Reason { return s.dialer.vetAddr(to, true) }
	c, at, failed := s.dialer.connect(ctx, "udp", []netip.AddrPort{to}, vet)
	if failed != nil {
		s.lim.leave()
		e.Address = failed.address
		return refuse(failed.verdict, failed.reason)
	}
	up, ok := c.(*net.UDPConn)
	if !ok || !s.track(c) {
		s.lim.leave()
		_ = c.Close() // no UDP socket, or the server is closed
		return refuse(VerdictError, policy.ReasonClosed)
	}
	e.Address, e.Verdict = at.String(), VerdictAllow
	x := &session{up: up, f: newFlow(s.ctx, s.lim, s.udp), e: e, begin: time.Now()}
	r.mu.Lock()
	r.open[key] = x
	r.mu.Unlock()
	s.wg.Go(func() { r.serve(key, x) })
	return x
}

// serve forwards the answers until the session is idle, and writes its line.
func (r *datagramRelay) serve(key association, x *session) {
	x.e.Reason = r.back(key, x)
	r.mu.Lock()
	delete(r.open, key)
	r.mu.Unlock()
	r.s.untrack(x.up)
	r.s.lim.leave()
	x.e.Sent, x.e.Received = x.f.sent.Load(), x.f.received.Load()
	x.e.DurationMS = milliseconds(time.Since(x.begin))
	r.s.log.add(x.e)
}

func (r *datagramRelay) back(key association, x *session) Reason {
	raw, err := x.up.SyscallConn()
	if err != nil {
		return policy.ReasonClosed
	}
	info := answerFrom(key.to.Addr())
	for {
		end := x.f.expiry()
		if x.up.SetReadDeadline(end) != nil {
			return policy.ReasonClosed
		}
		if x.f.stop.Load() {
			return policy.ReasonMaxBytes
		}
		err := r.one(raw, key, x, info)
		switch {
		case errors.Is(err, errMaxBytes):
			return policy.ReasonMaxBytes
		case r.s.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return policy.ReasonClosed
		case errors.Is(err, os.ErrDeadlineExceeded) && !x.f.expiry().After(end) && !x.f.stop.Load():
			return policy.ReasonNone // the usual end of a session
		}
	}
}

// one waits for one datagram and forwards it. It holds no buffer while it waits. An ICMP error about an earlier
// datagram does not end the session.
func (r *datagramRelay) one(raw syscall.RawConn, key association, x *session, info []byte) error {
	var buf *[maxDatagram]byte
	n, failed := 0, error(nil)
	err := raw.Read(func(fd uintptr) bool {
		buf = datagrams.Get().(*[maxDatagram]byte)
		n, failed = sys.Read(int(fd), buf[:])
		if failed == syscall.EAGAIN {
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
		return err
	}
	if got := x.f.take(int64(n)); got < int64(n) {
		x.f.give(got)
		return errMaxBytes
	}
	if err := r.c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, _, err := r.c.WriteMsgUDPAddrPort(buf[:n], info, key.from); err == nil { // otherwise it is lost
		x.f.received.Add(int64(n))
	}
	return x.f.pace(n)
}
