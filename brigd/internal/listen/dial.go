package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// packaged is the socket of the package's brigd.socket.
var packaged = "/run/brigd/brigd.sock"

// Dialer connects to a brigd.
type Dialer struct {
	// Path is the socket. "" is DefaultPath, or, if nobody listens there, the socket of the package's systemd unit.
	Path string

	mu      sync.Mutex
	at      string // of the last connection
	foreign bool   // another user than this one listens there
}

// Dial connects. By default, it refuses a socket at which neither root nor this user listens.
func (d *Dialer) Dial(ctx context.Context) (net.Conn, error) {
	if d.Path != "" {
		return d.dial(ctx, d.Path)
	}
	_, there := os.Lstat(packaged)
	own, err := DefaultPath()
	if err == nil && (own != packaged || there != nil) {
		var c net.Conn
		if c, err = d.dial(ctx, own); !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ECONNREFUSED) {
			return c, err
		}
	}
	if there != nil {
		return nil, err
	}
	return d.dial(ctx, packaged)
}

func (d *Dialer) dial(ctx context.Context, path string) (net.Conn, error) {
	d.note(path, false)
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	var by *unix.Ucred
	err = sys.Control(c.(*net.UnixConn), func(fd int) (err error) {
		by, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED) // of who has called listen(2): unix(7)
		return err
	})
	if err == nil {
		foreign := int(by.Uid) != os.Geteuid()
		d.note(path, foreign)
		if d.Path == "" && foreign && by.Uid != 0 {
			err = fmt.Errorf("user %d listens at %s, who is neither root nor you; name the socket with --socket if you mean "+
				"that brigd", by.Uid, path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (d *Dialer) note(at string, foreign bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.foreign = at, foreign
}

// Explain returns the error of a connection, with what to do where a brigd does not admit this user.
func (d *Dialer) Explain(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	closed := errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
	if uid := os.Geteuid(); errors.Is(err, unix.EACCES) || closed && d.foreign && uid != 0 {
		how := "--allow-uid"
		if d.at == packaged {
			how = `"allow_uids" in /etc/brig/brigd.json, with SocketMode=0666 for brigd.socket`
		}
		return fmt.Errorf("%w; the brigd at %s admits user %d once its operator adds that to %s", err, d.at, uid, how)
	}
	return fmt.Errorf("%w; start it, or name its socket with --socket", err)
}
