package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Peer describes the other end of a connection.
type Peer struct {
	// Local is true for a Unix socket, where the kernel has reported the peer's uid and unauthorized peers have been
	// disconnected. UID is that uid.
	Local bool
	UID   int
}

// Own reports whether the peer is root or the user of this process, who could do without brigd all that brigd does.
func (p Peer) Own() bool { return p.Local && (p.UID == 0 || p.UID == os.Geteuid()) }

// guarded is a listener that accepts only permitted users.
type guarded struct {
	net.Listener
	uids []int
}

// local is a connection with the peer's credentials at the time of connect(2).
type local struct {
	net.Conn
	uid int
}

// Accept waits for a connection of a permitted user. It closes others.
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
		_ = c.Close() // an error would be of no use to the peer
	}
}

// peerUID returns the uid of the peer: SO_PEERCRED, unix(7).
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
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET,
			unix.SO_PEERCRED)
	}); err != nil {
		return -1, err
	}
	if credErr != nil {
		return -1, credErr
	}
	return int(cred.Uid), nil
}

// Source returns the origin of a request for logs: an address without its port, or a local user.
func Source(r *http.Request) string {
	if p := PeerOf(r.Context()); p.Local {
		return "uid-" + strconv.Itoa(p.UID)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	return host
}

type peerKey struct{}

// WithPeer implements http.Server.ConnContext. It adds the peer, for PeerOf, and the connection, for Known.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	if b, ok := inner(c).(*bounded); ok {
		ctx = context.WithValue(ctx, boundKey{}, b)
		c = b.Conn
	}
	if l, ok := c.(*local); ok {
		return context.WithValue(ctx, peerKey{}, Peer{Local: true, UID: l.uid})
	}
	return ctx
}

// PeerOf returns the peer of a connection, or the zero Peer if it is unknown.
func PeerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}
