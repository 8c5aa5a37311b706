package listen

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Bound is a set of listeners that serve at most so many connections at once. Those of TCP and those of Unix sockets have one
// each, so that strangers who hold connections open keep no local user out.
type Bound struct {
	places    chan struct{}
	perSource int

	mu      sync.Mutex
	sources map[string]int
}

// NewBound allows connections at once, and three quarters of them to one source.
func NewBound(connections int) *Bound {
	return &Bound{places: make(chan struct{}, connections), perSource: max(1, connections*3/4), sources: map[string]int{}}
}

// Listener is l within the bound: while there is no place, one connection waits here and the others in the kernel's queue. A
// listener at which nobody calls holds no place.
func (b *Bound) Listener(l net.Listener) net.Listener {
	return &boundListener{Listener: l, bound: b, done: make(chan struct{})}
}

type boundListener struct {
	net.Listener
	bound *Bound
	done  chan struct{}
	once  sync.Once
}

// bounded is a connection that holds a place.
type bounded struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Accept waits for a connection, and then for a place for it. Who has its share already finds its connection closed.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := source(c)
		if !l.bound.enter(from) {
			_ = c.Close() // it has three quarters of all connections
			continue
		}
		select {
		case l.bound.places <- struct{}{}:
			return &bounded{Conn: c, leave: func() { <-l.bound.places; l.bound.leave(from) }}, nil
		case <-l.done:
			l.bound.leave(from)
			_ = c.Close() // it is not served any more
			return nil, net.ErrClosed
		}
	}
}

// Close ends Accept.
func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Close gives the place back.
func (c *bounded) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}

// source is who shares the places of a connection: a user, an address of IPv4, a network of IPv6, where one host has a /64,
// or this machine. This process's own user and root are trusted with all places: "".
func source(c net.Conn) string {
	if l, ok := c.(*local); ok {
		if (Peer{Local: true, UID: l.uid}).Own() {
			return ""
		}
		return LocalUser + strconv.Itoa(l.uid)
	}
	a, err := netip.ParseAddrPort(c.RemoteAddr().String())
	switch ip := a.Addr().Unmap(); {
	case err != nil:
		return ""
	case ip.IsLoopback():
		return "loopback" // 127.0.0.0/8 has many addresses
	case ip.Is6():
		return netip.PrefixFrom(ip, 64).Masked().String()
	default:
		return ip.String()
	}
}

func (b *Bound) enter(from string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if from != "" && b.sources[from] >= b.perSource {
		return false
	}
	b.sources[from]++
	return true
}

func (b *Bound) leave(from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sources[from]--; b.sources[from] == 0 {
		delete(b.sources, from)
	}
}
