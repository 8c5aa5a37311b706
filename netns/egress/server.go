package egress

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
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

// Timeouts that a policy cannot set.
const (
	headTimeout = 10 * time.Second // for a ClientHello or a request's head
	udpIdle     = 60 * time.Second
	acceptPause = 20 * time.Millisecond // after a failed accept(2): no descriptors, no memory
)

// Server relays what a policy allows, refuses the rest and records both.
type Server struct {
	m      *policy.Matcher
	pool   *pool
	log    *journal
	lim    *limits
	dialer *dialer
	idle   time.Duration
	head   time.Duration
	udp    time.Duration

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	open   map[io.Closer]bool // closed by Close, true: without an RST; nil: the server is closed
	end    sync.Once

	ready    []syscall.Conn // set by Serve: what the readers read
	readers  sync.WaitGroup
	stopping atomic.Bool  // the readers must return
	sending  atomic.Int64 // connections on which bytes of the payload may still have to be forwarded
	lookups  asked
	// destination returns the address that the peer connected to; tests replace it.
	destination func(c *net.TCPConn, redirected bool) (netip.AddrPort, error)
	udpWanted   func(asked netip.AddrPort) netip.AddrPort // nil: the same
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

// reader calls read, which waits for c, in a goroutine until Close is called. Close closes c.
func (s *Server) reader(c interface {
	io.Closer
	syscall.Conn
}, read func() error) {
	if !s.track(c) {
		return
	}
	s.ready = append(s.ready, c)
	s.readers.Go(func() {
		for {
			if err := read(); err == nil {
				continue
			}
			if s.stopping.Load() {
				return
			}
			s.pause(acceptPause)
		}
	})
}

// listen accepts connections for arrived, which must not block.
func (s *Server) listen(l *net.TCPListener, arrived func(*net.TCPConn)) {
	s.reader(l, func() error {
		c, err := l.AcceptTCP()
		if err == nil {
			arrived(c)
		}
		return err
	})
}

// track registers c to be closed by Close. If the server is already closed, it closes c and returns false.
func (s *Server) track(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		_ = c.Close() // the error is of no use
		return false
	}
	s.open[c] = false
	return true
}

// closeInOrder makes Close close a connection without an RST, so that written data arrives.
func (s *Server) closeInOrder(c io.Closer, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, tracked := s.open[c]; tracked {
		s.open[c] = yes
	}
}

// untrack closes c, if it is still open.
func (s *Server) untrack(c io.Closer) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close() // fails only if it was closed before
}

// pause waits for d, or until the server closes.
func (s *Server) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
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
