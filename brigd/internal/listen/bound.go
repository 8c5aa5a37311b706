package listen

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Bound is a set of listeners with a limit on simultaneous connections. TCP and Unix sockets have one Bound each, so
// that unauthenticated TCP connections cannot exclude local users. When all places are taken, a new connection replaces
// a connection without an authenticated request so far, or else an authenticated one with no request under way. The one
// that has been in that state for longest is closed.
type Bound struct {
	most, perSource int

	mu    sync.Mutex
	conns map[*bounded]bool
	// changed is signalled when a place is free, a connection may be closed for another, or a listener is closed.
	changed sync.Cond
}

// state is when a connection may be closed for another.
type state int

const (
	stranger state = iota // unauthenticated: first
	idle                  // authenticated, with no request under way: next
	busy                  // not at all
)

// strangerTime is how long a connection may be silent before its first authenticated request.
const strangerTime = 5 * time.Second

// NewBound returns a Bound of so many connections, three quarters of them at most from one source.
func NewBound(connections int) *Bound {
	b := &Bound{most: connections, perSource: max(1, connections*3/4), conns: map[*bounded]bool{}}
	b.changed.L = &b.mu
	return b
}

// Listener applies the bound to l. While there is no place, one connection waits here and the others in the kernel's
// backlog. An idle listener takes no place.
func (b *Bound) Listener(l net.Listener) net.Listener { return &boundListener{Listener: l, bound: b} }

type boundListener struct {
	net.Listener
	bound  *Bound
	closed bool // guarded by bound.mu
}

// bounded is a connection that holds a place.
type bounded struct {
	net.Conn
	bound *Bound
	from  string
	known atomic.Bool
	state state // guarded by bound.mu, as is since, when it has begun
	since time.Time
}

// Accept waits for a connection and then for a place. A connection beyond the share of its source is closed.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		x := &bounded{Conn: c, bound: l.bound, from: source(c), since: time.Now()}
		if _, ok := c.(*local); ok { // the kernel reports its uid
			x.known.Store(true)
			x.state = busy
		}
		if l.place(x) {
			return x, nil
		}
		_ = c.Close() // its source has three quarters of all places in use, or the listener is closed
	}
}

// place takes a place and may close another connection to get one. It reports whether it has got one.
func (l *boundListener) place(x *bounded) bool {
	b := l.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		switch {
		case l.closed:
			return false
		case x.from != "" && b.count(x.from) >= b.perSource:
			if !b.drop(x.from) {
				return false
			}
		case len(b.conns) >= b.most:
			if !b.drop("") {
				b.changed.Wait()
			}
		default:
			b.conns[x] = true
			return true
		}
	}
}

// count returns the number of connections from a source. The caller holds b.mu.
func (b *Bound) count(from string) (n int) {
	for c := range b.conns {
		if c.from == from {
			n++
		}
	}
	return n
}

// drop closes the connection from a source, or from any if it is "", that may be closed first. It reports whether there
// is one. The caller holds b.mu.
func (b *Bound) drop(from string) bool {
	var first *bounded
	for c := range b.conns {
		if c.state == busy || from != "" && c.from != from {
			continue
		}
		if first == nil || c.state < first.state || c.state == first.state && c.since.Before(first.since) {
			first = c
		}
	}
	if first == nil {
		return false
	}
	delete(b.conns, first)
	_ = first.Conn.Close() // the server that reads from it gets the error
	return true
}

// Close makes Accept return.
func (l *boundListener) Close() error {
	l.bound.mu.Lock()
	l.closed = true
	l.bound.changed.Broadcast()
	l.bound.mu.Unlock()
	return l.Listener.Close()
}

// Close closes the connection and frees its place.
func (c *bounded) Close() error {
	err := c.Conn.Close()
	c.bound.mu.Lock()
	defer c.bound.mu.Unlock()
	delete(c.bound.conns, c)
	c.bound.changed.Broadcast()
	return err
}

// SetReadDeadline sets the deadline; before the first authenticated request it is at most strangerTime away.
func (c *bounded) SetReadDeadline(t time.Time) error {
	if most := time.Now().Add(strangerTime); !c.known.Load() && (t.IsZero() || t.After(most)) {
		t = most
	}
	return c.Conn.SetReadDeadline(t)
}

// become sets the state, and wakes the listeners that wait for a place: they may close the connection if its state
// allows it.
func (c *bounded) become(s state) {
	c.bound.mu.Lock()
	defer c.bound.mu.Unlock()
	c.state, c.since = s, time.Now()
	c.bound.changed.Broadcast()
}

// inner returns the connection below TLS, or c.
func inner(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}

// Known marks the connection of a request as authenticated.
func Known(ctx context.Context) {
	c, _ := ctx.Value(connKey{}).(*bounded)
	if c == nil || c.known.Swap(true) {
		return
	}
	c.become(busy)
	_ = c.Conn.SetReadDeadline(time.Time{}) // fails only on a closed connection
}

// State implements http.Server.ConnState: an authenticated connection may be closed for another while it is idle.
func State(c net.Conn, s http.ConnState) {
	x, ok := inner(c).(*bounded)
	switch {
	case !ok || !x.known.Load():
	case s == http.StateIdle:
		x.become(idle)
	case s == http.StateActive:
		x.become(busy)
	}
}

// source returns the key under which connections share places: a user, an IPv4 address, an IPv6 network (one host has a
// /64) or the loopback interface. It returns "" for root and this process's user, who may have all places.
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
