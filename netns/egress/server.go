package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"brig/netns/egress/policy"
)

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
