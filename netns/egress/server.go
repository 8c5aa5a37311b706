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
)

// Config is what a Server needs.
type Config struct {
	Policy *Policy
	Jail   string    // the jail's name in each line
	Log    io.Writer // one Write a line; nil: no lines, only the summary

	// What follows is for tests; nil is the real thing.

	// Lookup gives the addresses of a name that the policy allows.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to a vetted address; network is tcp4, tcp6, udp4 or udp6.
	Dial func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
	// Own gives the host's own addresses, which are asked of its routing otherwise.
	Own func() ([]netip.Addr, error)
}

// Sockets are the jail's ends, opened in its network namespace. The Server owns and closes them.
type Sockets struct {
	// TCP listeners take what goes to their port of any address.
	TCP []*net.TCPListener
	// CatchAll takes what a netfilter redirect sends it; the destination is SO_ORIGINAL_DST.
	CatchAll *net.TCPListener
	// DNS has IP_PKTINFO set, and IPV6_RECVPKTINFO if it is an IPv6 socket. So have the UDP sockets.
	DNS    *net.UDPConn
	DNSTCP *net.TCPListener
	// UDP has one socket for each port of Policy.UDPPorts.
	UDP []*net.UDPConn
	// Taps are raw sockets that see the SYNs and datagrams for which nobody listens; IPv6 ones have IPV6_RECVPKTINFO set.
	Taps []*net.IPConn
	// Local are the jail's own addresses, of which a tap says nothing.
	Local []netip.Addr
	// Publish are the ports of the host that lead into the jail.
	Publish []Published
}

// Timeouts that no policy names.
const (
	headTimeout = 10 * time.Second // for a ClientHello or a request's head
	udpIdle     = 60 * time.Second
	acceptPause = 20 * time.Millisecond // after a failed accept(2): no descriptors, no memory
)

// Server relays what a policy allows, refuses the rest and keeps the record.
type Server struct {
	policy *Policy
	m      *Matcher
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
	open   map[io.Closer]bool // what Close closes, true: without an RST; nil: closed
	last   []io.Closer        // what it closes when nobody uses it any more
	end    sync.Once

	ready   []syscall.Conn // set by Serve
	readers sync.WaitGroup // the goroutines that take what arrives on them
	hushed  atomic.Bool    // they are to return
	sending sending
	lookups *asked
	local   map[netip.Addr]bool
	// destination is what the peer wanted to reach; tests have another.
	destination func(c *net.TCPConn, redirected bool) (netip.AddrPort, error)
	udpWanted   func(asked netip.AddrPort) netip.AddrPort // nil: the same
}

// New makes a Server. The policy must have passed Policy.Check and is not to be changed.
func New(c Config) (*Server, error) {
	if c.Policy == nil {
		return nil, errors.New("egress: no policy: pass an empty one to allow nothing")
	}
	m, err := c.Policy.Compile()
	if err != nil {
		return nil, err
	}
	s := &Server{policy: c.Policy, m: m, pool: NewPool(), log: newJournal(c.Jail, c.Log), lim: newLimits(c.Policy), dialer: newDialer(&c, m),
		idle: time.Duration(c.Policy.IdleTimeout), head: headTimeout, udp: udpIdle,
		open: map[io.Closer]bool{}, lookups: newAsked(), local: map[netip.Addr]bool{}, destination: destination}
	if s.idle <= 0 {
		s.idle = DefaultIdleTimeout
	}
	s.head = min(s.head, s.idle)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Serve begins to serve the sockets and returns at once.
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

// start runs f until it returns; Close closes c, which must make it return. False: the server is closed.
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

// reader is start for a goroutine that takes what arrives on c, and returns when it is hushed.
func (s *Server) reader(c io.Closer, f func()) {
	s.readers.Add(1)
	if !s.start(c, func() { defer s.readers.Done(); f() }) {
		s.readers.Done()
	}
}

// track has Close close c. False: the server is closed, and so is c now.
func (s *Server) track(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		_ = c.Close() // nobody waits for it
		return false
	}
	s.open[c] = false
	return true
}

// whole has Close close a connection so that what was written to it arrives: nothing is missing.
func (s *Server) whole(c io.Closer, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, tracked := s.open[c]; tracked {
		s.open[c] = yes
	}
}

// keep has Close close c after everything else.
func (s *Server) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		_ = c.Close() // nobody waits for it
		return
	}
	s.last = append(s.last, c)
}

// untrack closes c, if it is still open.
func (s *Server) untrack(c io.Closer) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close() // a second close has nothing to say
}

// listen accepts connections for arrived, which must not wait.
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

// pause waits, unless the server closes.
func (s *Server) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// Close ends every connection, waits for all goroutines, writes what the log still lacks and gives the final summary. What the
// payload had said until then is passed on first, as far as its servers take it within a second. It may be called more
// than once.
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
				_ = c.Close() // its goroutine sees it
			}
		}
		s.wg.Wait()
		for _, c := range s.last {
			_ = c.Close() // a socket that nobody is connected to
		}
		s.log.close()
	})
	return s.log.summary()
}

// Summary adds up what has ended so far.
func (s *Server) Summary() *Summary { return s.log.summary() }
