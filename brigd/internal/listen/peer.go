package listen

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// Peer describes the other end of a connection.
type Peer struct {
	// Local is true for a Unix socket, where the kernel has reported the peer's uid and unauthorized peers have been
	// disconnected. UID is that uid.
	Local bool
	UID   int
}

// Own reports whether the peer is root or the user of this process, who both could do everything that brigd does
// without it.
func (p Peer) Own() bool { return p.Local && (p.UID == 0 || p.UID == os.Geteuid()) }

// guarded is a listener that accepts only permitted users.
type guarded struct {
	*net.UnixListener
	uids []int
}

// local is a connection with the peer's credentials at the time of connect(2).
type local struct {
	net.Conn
	uid int
}

// guard restricts a Unix socket to permitted users. Closing it leaves its path.
func guard(l net.Listener, o UnixOptions) *guarded {
	g := &guarded{l.(*net.UnixListener), o.UIDs}
	g.SetUnlinkOnClose(false) // the service manager owns the path, or Remove removes it, relative to the open directory
	return g
}

// Accept waits for a connection of a permitted user. It closes others.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.AcceptUnix()
		if err != nil {
			return nil, err
		}
		var peer *unix.Ucred
		err = sys.Control(c, func(fd int) (err error) {
			peer, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED) // unix(7)
			return err
		})
		if err == nil {
			uid := int(peer.Uid)
			if (Peer{Local: true, UID: uid}).Own() || slices.Contains(g.uids, uid) {
				return &local{c, uid}, nil
			}
		}
		_ = c.Close() // an error would be of no use to the peer
	}
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

type connKey struct{}

// WithPeer implements http.Server.ConnContext. It adds the connection, for PeerOf and Known.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, inner(c))
}

// PeerOf returns the peer of a connection, or the zero Peer if it is unknown.
func PeerOf(ctx context.Context) Peer {
	c := ctx.Value(connKey{})
	if b, ok := c.(*bounded); ok {
		c = b.Conn
	}
	if l, ok := c.(*local); ok {
		return Peer{Local: true, UID: l.uid}
	}
	return Peer{}
}
