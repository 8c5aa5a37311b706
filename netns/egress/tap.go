package egress

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"
	"time"

	"brig/internal/sys"
	"brig/netns/egress/policy"

	"golang.org/x/sys/unix"
)

const (
	tapPacket = 256
	tapFlows  = 4096
	tapTCP    = 3 * time.Minute // how long a SYN may be retransmitted
	tapUDP    = time.Second
)

// probe holds the fields of a packet that a tap needs.
type probe struct {
	proto    byte // 6 or 17
	from, to netip.AddrPort
	seq      uint32 // of a SYN; equal in each retransmission
}

// serveTap logs a refusal for each attempt at a port without a listener. The filter of the socket lets nothing else
// through.
func (s *Server) serveTap(c *net.IPConn) {
	domain, proto, err := tapFamily(c)
	if err != nil {
		_ = c.Close()
		return // not a socket
	}
	seen := map[probe]time.Time{}
	buf, oob := make([]byte, tapPacket), make([]byte, ancillary)
	s.reader(c, func() error {
		n, oobn, _, from, err := c.ReadMsgIP(buf, oob)
		if err != nil {
			return err
		}
		var p probe
		ok := false
		if domain == syscall.AF_INET {
			p, ok = parseTap4(buf[:n])
		} else if to, known := askedAddr(oob[:oobn]); known && from != nil {
			if a, valid := netip.AddrFromSlice(from.IP); valid {
				p, ok = parseTransport(byte(proto), a.Unmap(), to.Unmap(), buf[:n])
			}
		}
		if ok && newAttempt(seen, p, time.Now()) {
			s.logUnserved(p)
		}
		return nil
	})
}

// tapFamily returns a raw socket's SO_DOMAIN and SO_PROTOCOL. An IPv6 raw socket does not deliver the IP header.
func tapFamily(c *net.IPConn) (domain, proto int, err error) {
	err = sys.Control(c, func(fd int) (err error) {
		if domain, err = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, unix.SO_DOMAIN); err == nil {
			proto, err = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, unix.SO_PROTOCOL)
		}
		return err
	})
	return domain, proto, err
}

// parseTap4 parses an IPv4 packet. The payload controls each of its bytes.
func parseTap4(b []byte) (probe, bool) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return probe{}, false
	}
	head := int(b[0]&15) * 4
	if head < 20 || len(b) < head || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 { // not the first fragment
		return probe{}, false
	}
	return parseTransport(b[9], netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[head:])
}

// parseTransport parses a TCP header that opens a connection, or a UDP header.
func parseTransport(proto byte, from, to netip.Addr, b []byte) (p probe, ok bool) {
	if len(b) < 8 {
		return p, false
	}
	p.proto = proto
	p.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(b))
	p.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(b[2:]))
	const syn, ack, rst = 2, 16, 4
	if proto == syscall.IPPROTO_TCP && len(b) >= 20 && b[13]&(syn|ack|rst) == syn {
		p.seq = binary.BigEndian.Uint32(b[4:])
		return p, true
	}
	return p, proto == syscall.IPPROTO_UDP
}

// newAttempt reports whether a packet begins a new attempt rather than repeating one.
func newAttempt(seen map[probe]time.Time, p probe, now time.Time) bool {
	life := tapTCP
	if p.proto == syscall.IPPROTO_UDP {
		life = tapUDP
	}
	at, known := seen[p]
	if !known && len(seen) >= tapFlows {
		clear(seen)
	}
	seen[p] = now
	return !known || now.Sub(at) >= life
}

// logUnserved logs an attempt at a port without a listener.
func (s *Server) logUnserved(p probe) {
	e := Event{Kind: KindTCP, Verdict: VerdictDeny, Reason: policy.ReasonPort,
		Destination: p.to.String(), Port: p.to.Port()}
	udp := p.proto == syscall.IPPROTO_UDP
	if udp {
		e.Kind = KindUDP
	}
	e.Name, _ = s.pool.name(p.to.Addr())
	if d := s.decide(e.Name, p.to, udp); !d.Allow && d.Reason != policy.ReasonNone {
		e.Reason, e.Rule = d.Reason, d.Text
	}
	s.log.add(e)
}
