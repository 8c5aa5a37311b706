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

// Peer is who is at the other end of a connection.
type Peer struct {
	// Local is true at a Unix socket: the kernel has said who it is, and who may not connect is gone. UID is that user's
	// id.
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

// Source returns where a request comes from, for logs: an address without its port, or a local user.
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

// WithPeer is for http.Server.ConnContext. It adds the peer, for PeerOf, and the connection, for Known.
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

// PeerOf is who has connected; the zero Peer, who is nobody, where that is not known.
func PeerOf(ctx context.Context) Peer {
	p, _ := ctx.Value(peerKey{}).(Peer)
	return p
}
