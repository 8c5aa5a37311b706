package egress

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"brig/netns/egress/policy"
)

// Config configures a Server.
type Config struct {
	Policy *policy.Policy
	Jail   string    // the jail's name in each line
	Log    io.Writer // one Write a line; nil: only the summary
}

// Sockets were opened in the jail's network namespace. The Server owns and closes them.
type Sockets struct {
	// TCP listeners receive connections to their port of any address.
	TCP []*net.TCPListener
	// CatchAll receives the connections redirected by netfilter; the destination is SO_ORIGINAL_DST.
	CatchAll *net.TCPListener
	// DNS has IP_PKTINFO set, and IPV6_RECVPKTINFO if it is an IPv6 socket. So have the UDP sockets.
	DNS    *net.UDPConn
	DNSTCP *net.TCPListener
	// UDP has one socket for each port of Policy.UDPPorts.
	UDP []*net.UDPConn
	// Taps are raw sockets that see SYNs and datagrams to other hosts' ports without a listener, and by a filter nothing
	// else; IPv6 ones have IPV6_RECVPKTINFO set.
	Taps []*net.IPConn
	// Publish are the ports of the host that are relayed into the jail.
	Publish []Published
}

// New returns a Server. The caller must not change the policy afterwards. An error is that of Policy.Compile.
func New(c Config) (*Server, error) {
	if c.Policy == nil {
		return nil, errors.New("egress: no policy: pass an empty one to allow nothing")
	}
	m, err := c.Policy.Compile()
	if err != nil {
		return nil, err
	}
	idle := cmp.Or(time.Duration(c.Policy.IdleTimeout), policy.DefaultIdleTimeout)
	s := &Server{m: m, pool: newPool(), log: newJournal(c.Jail, c.Log), lim: newLimits(c.Policy),
		dialer: newDialer(c.Policy, m), idle: idle, head: min(headTimeout, idle), udp: udpIdle,
		open: map[io.Closer]bool{}, lookups: asked{names: map[string]askedName{}}, destination: destination}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve starts serving the sockets and returns at once.
func (s *Server) Serve(k Sockets) {
	for _, l := range k.TCP {
		s.listen(l, func(c *net.TCPConn) { s.arrived(c, false) })
	}
	if k.CatchAll != nil {
		s.listen(k.CatchAll, func(c *net.TCPConn) { s.arrived(c, true) })
	}
	if k.DNSTCP != nil {
		s.serveDNSTCP(k.DNSTCP)
	}
	if k.DNS != nil {
		s.serveDNS(k.DNS)
	}
	for _, c := range k.UDP {
		s.serveUDP(c)
	}
	for _, c := range k.Taps {
		s.serveTap(c)
	}
	for _, p := range k.Publish {
		s.publish(p)
	}
}

// Close ends every connection, waits for all goroutines, writes the remaining log lines and returns the final summary.
// Bytes that the payload has sent are forwarded first, as far as its servers receive them within a second. Close may be
// called more than once.
func (s *Server) Close() *Summary {
	s.end.Do(func() {
		// an attempt just before the end of the jail is read, and logged
		until(settleTime, func() bool { return !s.pending() })
		s.log.lost(lostPackets(s.ready))
		s.stopReaders()
		until(sendTime, func() bool { return s.sending.Load() == 0 })
		s.cancel()
		s.mu.Lock()
		open := s.open
		s.open = nil
		s.mu.Unlock()
		for c, inOrder := range open {
			if t, ok := c.(*net.TCPConn); ok && !inOrder {
				reset(t)
			} else {
				_ = c.Close() // its goroutine gets the error
			}
		}
		s.wg.Wait()
		s.log.close()
	})
	return s.log.summary()
}
