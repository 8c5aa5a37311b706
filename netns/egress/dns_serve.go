package egress

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"brig/netns/egress/policy"
	"brig/netns/egress/wire"
)

const (
	dnsQuery   = 4096 // bytes of a query that are parsed
	dnsWrite   = time.Second
	dnsStreams = 64              // connections at once
	dnsStream  = 2 * time.Minute // lifetime of a connection
)

// serveDNS answers queries. No answer requires waiting.
func (s *Server) serveDNS(c *net.UDPConn) {
	s.receive(c, dnsQuery, func(query []byte, from netip.AddrPort, to netip.Addr) {
		reply := s.answer(query, plainPort(netip.AddrPortFrom(to, policy.PortDNS)))
		if reply == nil || c.SetWriteDeadline(time.Now().Add(dnsWrite)) != nil {
			return
		}
		_, _, _ = c.WriteMsgUDPAddrPort(reply, answerFrom(to), from) // an error means that the client has gone
	})
}

// answer answers one query and records what it refuses.
func (s *Server) answer(query []byte, to netip.AddrPort) []byte {
	reply, q := wire.Answer(query, s.m.Knows, s.pool.addr)
	if q.Verdict == string(VerdictDeny) && s.lookups.first(q.Name, q.Type, time.Now()) {
		e := Event{Kind: KindDNS, Verdict: VerdictDeny, Reason: q.Reason, Name: q.Name, Port: policy.PortDNS}
		if to.Addr().IsValid() {
			e.Destination = to.String()
		}
		if e.Reason == policy.ReasonNoRule {
			e.Reason, e.Rule = s.whyUnknown(q.Name)
		}
		s.log.add(e)
	}
	return reply
}

// whyUnknown returns the exact reason for a name without a rule: it may be denied, or invalid.
func (s *Server) whyUnknown(name string) (policy.Reason, string) {
	switch d := s.m.Host(name, 443); d.Reason {
	case policy.ReasonDenied, policy.ReasonNameInvalid:
		return d.Reason, d.Text
	}
	return policy.ReasonNoRule, ""
}

// serveDNSTCP answers queries over TCP: two bytes of length before each message.
func (s *Server) serveDNSTCP(l *net.TCPListener) {
	var streams atomic.Int64
	s.listen(l, func(c *net.TCPConn) {
		if streams.Add(1) > dnsStreams || !s.track(c) {
			streams.Add(-1)
			reset(c)
			s.log.add(Event{Kind: KindDNS, Verdict: VerdictDeny, Reason: policy.ReasonMaxConnections, Port: policy.PortDNS})
			return
		}
		s.sending.Add(1)
		s.wg.Go(func() {
			defer streams.Add(-1)
			defer s.sending.Add(-1)
			defer s.untrack(c)
			s.dnsStream(c)
		})
	})
}

func (s *Server) dnsStream(c *net.TCPConn) {
	var to netip.AddrPort
	if a, err := s.destination(c, false); err == nil {
		to = plainPort(netip.AddrPortFrom(a.Addr(), policy.PortDNS))
	}
	end := time.Now().Add(dnsStream)
	for {
		var size [2]byte
		if c.SetDeadline(time.Now().Add(min(s.head, time.Until(end)))) != nil {
			return
		}
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return // done, or too slow: the client sees the end
		}
		query := make([]byte, min(int(binary.BigEndian.Uint16(size[:])), dnsQuery))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		reply := s.answer(query, to)
		if reply == nil || len(query) < int(binary.BigEndian.Uint16(size[:])) {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}
