// Package listen opens brigd's sockets: a Unix socket of the user, TCP for authenticated callers, or sockets passed by
// systemd(1). It identifies the peer of each connection.
//
// A Unix socket is protected by its mode, by the peer's credentials from the kernel (SO_PEERCRED, unix(7)), and by a
// lock file beside it. The owner of the socket holds the lock (flock(2)) from before it examines the path until after
// it has removed it.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// maxPath is the maximum length of a Unix socket's path: sun_path of unix(7), less its NUL.
const maxPath = 107

// UnixOptions configure a Unix socket.
type UnixOptions struct {
	// Path is the path of the socket. "" is DefaultPath.
	Path string
	// UIDs are users who may connect besides root and the user of this process. If there are any, the mode lets every
	// user reach the socket, and the peer credentials alone decide.
	UIDs []int
}

// Unix is a Unix socket whose path this process owns.
type Unix struct {
	net.Listener
	path string
	dir  *os.File // the directory of the socket and its lock
	lock *os.File
}

// DefaultPath returns the default socket and creates its directory if needed: brigd.sock in $XDG_RUNTIME_DIR. Without
// that variable, it is in /run/brigd for root and in /tmp/brigd-UID for other users, a directory that must belong to
// the user and have mode 0700.
func DefaultPath() (string, error) {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir != "" {
		return filepath.Join(dir, "brigd.sock"), nil
	}
	if dir = "/run/brigd"; os.Geteuid() != 0 {
		dir = "/tmp/brigd-" + strconv.Itoa(os.Geteuid())
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("the directory of the socket cannot be made: %w; name another with --listen unix:PATH", err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil { // lstat(2)
		return "", fmt.Errorf("%s: %w; name another with --listen unix:PATH", dir, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		return "", fmt.Errorf("%s is not a directory of yours alone, with mode 0700; remove it, or name another place "+
			"with --listen unix:PATH", dir)
	}
	return filepath.Join(dir, "brigd.sock"), nil
}

// ListenUnix creates the socket. It replaces an existing file only if that is a socket of this user on which no process
// listens.
func ListenUnix(ctx context.Context, o UnixOptions) (*Unix, error) {
	path := o.Path
	if path == "" {
		var err error
		if path, err = DefaultPath(); err != nil {
			return nil, err
		}
	}
	path, err := sys.Abs(path)
	if err != nil {
		return nil, err
	}
	if len(path) > maxPath {
		return nil, fmt.Errorf("%s: a socket's path has at most %d bytes, and this one %d; choose a shorter one", path,
			maxPath, len(path))
	}
	u := &Unix{path: path}
	err = u.hold()
	if err == nil {
		err = u.clear()
	}
	if err != nil {
		return nil, errors.Join(err, u.release())
	}
	c := net.ListenConfig{Control: func(_, _ string,
		raw syscall.RawConn) error { // between socket(2) and bind(2), which keeps the mode
		var mErr error
		err := raw.Control(func(fd uintptr) { mErr = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, mErr)
	}}
	l, err := c.Listen(ctx, "unix", u.held())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, reason(err)), u.release())
	}
	if len(o.UIDs) > 0 {
		err = u.open()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), u.release())
	}
	u.Listener = guard(l, o)
	return u, nil
}

// Addr returns the path of the socket, not the path used for bind(2).
func (u *Unix) Addr() net.Addr { return &net.UnixAddr{Name: u.path, Net: "unix"} }

// Remove closes the socket, removes it and releases the lock. Close alone leaves the path, so that no other process
// takes it while connections are still served.
func (u *Unix) Remove() error {
	err := u.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, unix.Unlinkat(int(u.dir.Fd()), filepath.Base(u.path), 0), u.release())
}

// held returns a path of the socket by way of the open directory, so that a directory put in its place has no effect.
func (u *Unix) held() string {
	return "/proc/self/fd/" + strconv.Itoa(int(u.dir.Fd())) + "/" + filepath.Base(u.path)
}

// open lets every user reach the socket. umask(2), which would do so for bind(2), is the whole process's.
func (u *Unix) open() error {
	fd, err := unix.Openat(int(u.dir.Fd()), filepath.Base(u.path), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		err = owned.Chmod(fd, 0o666)
	}
	if err != nil {
		return fmt.Errorf("%s: its mode cannot be set: %w", u.path, err)
	}
	return nil
}

// hold opens the directory and takes the lock.
func (u *Unix) hold() (err error) {
	parent := filepath.Dir(u.path)
	if u.dir, err = os.OpenFile(parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("the directory of the socket: %w; make it, or name another with --listen unix:PATH", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(u.dir.Fd()), &st); err != nil {
		return fmt.Errorf("%s: fstat(2): %w", parent, err)
	}
	if foreign := st.Uid != 0 && int(st.Uid) != os.Geteuid(); foreign || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("others may replace what is in %s; choose a directory that is yours alone", parent)
	}
	for range 100 { // retry if another process takes the lock and removes the file in between
		if held, err := u.flock(); held || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s.lock is removed again and again by others; name another place with --listen unix:PATH", u.path)
}

// flock opens the lock file and locks it. It returns false if its previous holder has removed the file meanwhile.
func (u *Unix) flock() (held bool, err error) {
	name := filepath.Base(u.path) + ".lock"
	fd, err := unix.Openat(int(u.dir.Fd()), name,
		unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600) // open(2)
	if err != nil {
		return false, fmt.Errorf("the lock %s.lock: %w; remove it if no brigd uses it, or name another place with "+
			"--listen unix:PATH", u.path, err)
	}
	f := os.NewFile(uintptr(fd), u.path+".lock")
	defer func() {
		if held {
			u.lock = f
		} else {
			err = errors.Join(err, f.Close())
		}
	}()
	var st, now unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, fmt.Errorf("%s: fstat(2): %w", f.Name(), err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() {
		return false, fmt.Errorf("%s is not a file of yours; remove it, or name another place with --listen unix:PATH",
			f.Name())
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) // flock(2)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, fmt.Errorf("another brigd listens at %s; stop it, or name another place with --listen unix:PATH",
			u.path)
	}
	if err != nil {
		return false, fmt.Errorf("%s: flock(2): %w", f.Name(), err)
	}
	err = unix.Fstatat(int(u.dir.Fd()), name, &now, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && now.Ino == st.Ino && now.Dev == st.Dev, nil
}

// release removes the lock file and releases the lock. A process that has opened the file meanwhile sees the removal
// once it has the lock.
func (u *Unix) release() error {
	var errs []error
	if u.lock != nil {
		errs = append(errs, unix.Unlinkat(int(u.dir.Fd()), filepath.Base(u.path)+".lock", 0))
	}
	for _, f := range []*os.File{u.lock, u.dir} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// clear removes a socket left by a killed brigd. The caller holds the lock.
func (u *Unix) clear() error {
	var st unix.Stat_t
	name := filepath.Base(u.path)
	err := unix.Fstatat(int(u.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u.path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is there and no socket of yours; remove it, or name another place with --listen unix:PATH",
			u.path)
	}
	c, err := net.DialTimeout("unix", u.held(), 2*time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("somebody answers at %s; stop that program, or name another place with --listen "+
			"unix:PATH", u.path), c.Close())
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s: nobody can say whether it is in use: %w; remove it if it is not", u.path, reason(err))
	}
	if err := unix.Unlinkat(int(u.dir.Fd()), name, 0); err != nil {
		return fmt.Errorf("%s: unlinkat(2): %w", u.path, err)
	}
	return nil
}

// reason returns the text of a net error without the path.
func reason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}
