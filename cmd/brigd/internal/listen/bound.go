package listen

import (
	"container/list"
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
	places    chan struct{}
	perSource int
	waiting   atomic.Int32 // connections that wait for a place

	mu      sync.Mutex
	sources map[string]int
	spare   [2]list.List // of *bounded: unauthenticated connections, and authenticated ones with no request under way
}

const (
	strangers = iota
	callers
)

// strangerTime is how long a connection may be silent before its first authenticated request.
const strangerTime = 5 * time.Second

// NewBound returns a Bound of so many connections, three quarters of them at most from one source.
func NewBound(connections int) *Bound {
	return &Bound{places: make(chan struct{}, connections), perSource: max(1, connections*3/4), sources: map[string]int{}}
}

// Listener applies the bound to l. While there is no place, one connection waits here and the others in the kernel's
// backlog. An idle listener takes no place.
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
	bound *Bound
	from  string
	known atomic.Bool
	gone  bool          // guarded by bound.mu
	in    *list.List    // one of bound.spare, guarded by bound.mu; nil if it may not be closed for another
	at    *list.Element // its place in that list
}

// Accept waits for a connection and then for a place. A connection beyond the share of its source is closed.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		b, from := l.bound, source(c)
		if !b.enter(from) && !(b.drop(from) && b.enter(from)) {
			_ = c.Close() // this source has three quarters of all places in use
			continue
		}
		if !l.place() {
			b.leave(from)
			_ = c.Close() // the listener is closed
			return nil, net.ErrClosed
		}
		x := &bounded{Conn: c, bound: b, from: from}
		if _, local := c.(*local); local {
			x.known.Store(true) // the kernel reports its uid
		} else {
			b.file(x, strangers)
		}
		return x, nil
	}
}

// place takes a place and may close another connection to get one. It returns false if the listener is closed.
func (l *boundListener) place() bool {
	b := l.bound
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		select {
		case b.places <- struct{}{}:
			return true
		default:
		}
		if b.drop("") {
			continue
		}
		select {
		case b.places <- struct{}{}:
			return true
		case <-l.done:
			return false
		}
	}
}

// Close makes Accept return.
func (l *boundListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Close closes the connection and frees its place.
func (c *bounded) Close() error {
	err := c.Conn.Close()
	b := c.bound
	b.mu.Lock()
	first := !c.gone
	c.gone = true
	b.unfile(c)
	b.mu.Unlock()
	if first {
		<-b.places
		b.leave(c.from)
	}
	return err
}

// SetReadDeadline sets the deadline; before the first authenticated request it is at most strangerTime away.
func (c *bounded) SetReadDeadline(t time.Time) error {
	if most := time.Now().Add(strangerTime); !c.known.Load() && (t.IsZero() || t.After(most)) {
		t = most
	}
	return c.Conn.SetReadDeadline(t)
}

// file lists a connection as one that may be closed for another. If a new connection waits, the first in the list is
// closed.
func (b *Bound) file(c *bounded, kind int) {
	b.mu.Lock()
	b.unfile(c)
	if !c.gone {
		c.in = &b.spare[kind]
		c.at = c.in.PushBack(c)
	}
	b.mu.Unlock()
	if b.waiting.Load() > 0 && len(b.places) == cap(b.places) {
		b.drop("")
	}
}

// unfile removes a connection from its list. The caller holds b.mu.
func (b *Bound) unfile(c *bounded) {
	if c.in != nil {
		c.in.Remove(c.at)
		c.in, c.at = nil, nil
	}
}

// drop closes the first listed connection from a source, or from any if it is "", and reports whether there was one.
func (b *Bound) drop(from string) bool {
	b.mu.Lock()
	var found *bounded
	for kind := range b.spare {
		for e := b.spare[kind].Front(); e != nil && found == nil; e = e.Next() {
			if c := e.Value.(*bounded); from == "" || c.from == from {
				found = c
			}
		}
	}
	if found != nil {
		b.unfile(found)
	}
	b.mu.Unlock()
	if found != nil {
		_ = found.Close() // the server that reads from it gets the error
	}
	return found != nil
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
	c.bound.mu.Lock()
	c.bound.unfile(c)
	c.bound.mu.Unlock()
	_ = c.Conn.SetReadDeadline(time.Time{}) // fails only on a closed connection
}

// State implements http.Server.ConnState: an authenticated connection may be closed for another while it is idle.
func State(c net.Conn, s http.ConnState) {
	x, ok := inner(c).(*bounded)
	switch {
	case !ok || !x.known.Load():
	case s == http.StateIdle:
		x.bound.file(x, callers)
	case s == http.StateActive:
		x.bound.mu.Lock()
		x.bound.unfile(x)
		x.bound.mu.Unlock()
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
