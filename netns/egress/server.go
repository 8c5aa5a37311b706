package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"brig/netns/egress/policy"
)

// Config configures a Server.
type Config struct {
	Policy *Policy
	Jail   string    // the jail's name in each line
	Log    io.Writer // one Write a line; nil: only the summary

	// The rest is for tests; nil is the host's network.

	// Lookup returns the addresses of a name that the policy allows.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to a vetted address; network is tcp4, tcp6, udp4 or udp6.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Own returns the host's addresses; nil: the routing tables are queried.
	Own func() ([]netip.Addr, error)
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
	// Taps are raw sockets that see SYNs and datagrams to ports without a listener; IPv6 ones have IPV6_RECVPKTINFO
	// set.
	Taps []*net.IPConn
	// Local are the jail's own addresses, which a tap ignores.
	Local []netip.Addr
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
	pool   *Pool
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
	last   []io.Closer        // closed by Close after everything else
	end    sync.Once

	ready   []syscall.Conn // set by Serve
	readers sync.WaitGroup // the goroutines that read them
	hushed  atomic.Bool    // they must return
	sending sending
	lookups *asked
	local   map[netip.Addr]bool
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
	s := &Server{m: m, pool: NewPool(), log: newJournal(c.Jail, c.Log), lim: newLimits(c.Policy),
		dialer: newDialer(&c, m),
		idle:   time.Duration(c.Policy.IdleTimeout), head: headTimeout, udp: udpIdle,
		open: map[io.Closer]bool{}, lookups: newAsked(), local: map[netip.Addr]bool{}, destination: destination}
	if s.idle <= 0 {
		s.idle = policy.DefaultIdleTimeout
	}
	s.head = min(s.head, s.idle)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve starts serving the sockets and returns at once.
func (s *Server) Serve(k Sockets) {
	s.ready = k.arriving()
	for _, a := range k.Local {
		s.local[plainAddr(a)] = true
	}
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
		s.reader(k.DNS, func() { s.serveDNS(k.DNS) })
	}
	for _, c := range k.UDP {
		s.reader(c, func() { s.serveUDP(c) })
	}
	for _, c := range k.Taps {
		s.reader(c, func() { s.serveTap(c) })
	}
	for _, p := range k.Publish {
		s.publish(p)
	}
}

// start runs f in a goroutine. Close closes c, which must make f return. start returns false if the server is closed.
func (s *Server) start(c io.Closer, f func()) bool {
	if !s.track(c) {
		return false
	}
	s.wg.Go(func() {
		defer s.untrack(c)
		f()
	})
	return true
}

// reader is start for a goroutine that reads from c, and returns when hush is called.
func (s *Server) reader(c io.Closer, f func()) {
	s.readers.Add(1)
	if !s.start(c, func() { defer s.readers.Done(); f() }) {
		s.readers.Done()
	}
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

// whole makes Close close a connection without an RST, so that written data arrives.
func (s *Server) whole(c io.Closer, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, tracked := s.open[c]; tracked {
		s.open[c] = yes
	}
}

// keep makes Close close c after everything else.
func (s *Server) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		_ = c.Close() // the error is of no use
		return
	}
	s.last = append(s.last, c)
}

// untrack closes c, if it is still open.
func (s *Server) untrack(c io.Closer) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close() // fails only if it was closed before
}

// listen accepts connections for arrived, which must not block.
func (s *Server) listen(l *net.TCPListener, arrived func(*net.TCPConn)) {
	s.reader(l, func() {
		for {
			c, err := l.AcceptTCP()
			if err == nil {
				arrived(c)
				continue
			}
			if s.hushed.Load() || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrInvalid) {
				return
			}
			s.pause(acceptPause)
		}
	})
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
		s.settle()
		s.log.unseen(unseen(s.ready))
		s.hush()
		s.sending.wait(sendTime)
		s.cancel()
		s.mu.Lock()
		open := s.open
		s.open = nil
		s.mu.Unlock()
		for c, whole := range open {
			if t, ok := c.(*net.TCPConn); ok && !whole {
				reset(t)
			} else {
				_ = c.Close() // its goroutine gets the error
			}
		}
		s.wg.Wait()
		for _, c := range s.last {
			_ = c.Close() // an unconnected socket
		}
		s.log.close()
	})
	return s.log.summary()
}

// Summary returns the sums for all attempts that have ended so far.
func (s *Server) Summary() *Summary { return s.log.summary() }
