package listen

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Peer is who is at the other end of a connection.
type Peer struct {
	// Local is true at a Unix socket: the kernel has said who it is, and who may not connect is gone. UID is that user's id.
	Local bool
	UID   int
}

// Own is true of this process's own user and of root, who could do anyway whatever brigd does for them.
func (p Peer) Own() bool { return p.Local && (p.UID == 0 || p.UID == os.Geteuid()) }

// guarded lets only those connect who may.
type guarded struct {
	net.Listener
	uids []int
}

// local is a connection with the peer's credentials as they were when it connected.
type local struct {
	net.Conn
	uid int
}

// Accept waits for a connection of somebody who may connect. Others find theirs closed.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && (uid == 0 || uid == os.Geteuid() || slices.Contains(g.uids, uid)) {
			return &local{c, uid}, nil
		}
		_ = c.Close() // nobody is there whom an error would help
	}
}

// peerUID asks the kernel who has connected: SO_PEERCRED, unix(7).
func peerUID(c net.Conn) (int, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return -1, errors.New("not a Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return -1, err
	}
	if credErr != nil {
		return -1, credErr
	}
	return int(cred.Uid), nil
}

type peerKey struct{}

// WithPeer is for http.Server.ConnContext: it notes who has connected.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(*bounded); ok {
		c = b.Conn
	}
	if l, ok := c.(*local); ok {
		return context.WithValue(ctx, peerKey{}, Peer{Local: true, UID: l.uid})
	}
	return ctx
}

// PeerOf is who has connected; the zero Peer, who is nobody, where that is not known.
func PeerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}

// Bound is a set of listeners that have at most so many connections at once.
type Bound struct {
	places    chan struct{}
	perSource int

	mu      sync.Mutex
	sources map[string]int
}

// NewBound allows connections at once, and three quarters of them to one address.
func NewBound(connections int) *Bound {
	return &Bound{places: make(chan struct{}, connections), perSource: max(1, connections*3/4), sources: map[string]int{}}
}

// Listener is l within the bound: while there is no place, connections wait in the kernel's queue.
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

// Accept waits for a place, and then for a connection.
func (l *boundListener) Accept() (net.Conn, error) {
	select {
	case l.bound.places <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.bound.places
			return nil, err
		}
		from, ok := l.bound.enter(c)
		if !ok {
			_ = c.Close() // it has three quarters of all connections
			continue
		}
		return &bounded{Conn: c, leave: func() { l.bound.leave(from) }}, nil
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

func (b *Bound) enter(c net.Conn) (from string, ok bool) {
	from, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return "", true // a Unix socket: its users are trusted with all places
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sources[from] >= b.perSource {
		return "", false
	}
	b.sources[from]++
	return from, true
}

func (b *Bound) leave(from string) {
	<-b.places
	if from == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sources[from]--; b.sources[from] == 0 {
		delete(b.sources, from)
	}
}
