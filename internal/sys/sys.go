// Package sys makes system calls that a signal or a busy kernel may interrupt, and reads the kernel's small files.
package sys

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds ReadFile in bytes: a mount table of 10,000 entries is 2 MiB.
const maxFile = 64 << 20

// Retry repeats a system call that a signal has interrupted (EINTR, signal(7)).
func Retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

// Read is read(2) without EINTR.
func Read(fd int, b []byte) (int, error) {
	return Retry(func() (int, error) { return unix.Read(fd, b) })
}

// Pread is pread(2) without EINTR.
func Pread(fd int, b []byte, at int64) (int, error) {
	return Retry(func() (int, error) { return unix.Pread(fd, b, at) })
}

// Write is write(2) without EINTR.
func Write(fd int, b []byte) (int, error) {
	return Retry(func() (int, error) { return unix.Write(fd, b) })
}

// Control calls f with the descriptor of a file or connection, which is not closed meanwhile. It returns f's error, or
// os.ErrClosed.
func Control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := raw.Control(func(fd uintptr) { ferr = f(int(fd)) }); err != nil {
		return os.ErrClosed // a file's own error is an unexported one of internal/poll
	}
	return ferr
}

// Await calls f whenever the descriptor may be readable, until f returns something other than EAGAIN and EINTR.
func Await(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = raw.Read(func(fd uintptr) bool {
		for ferr = unix.EINTR; ferr == unix.EINTR; {
			ferr = f(int(fd))
		}
		return ferr != unix.EAGAIN
	})
	if err != nil {
		return err
	}
	return ferr
}

// Idle reports whether poll(2) finds none of the events and no error on a file. It does not wait.
func Idle(c syscall.Conn, events int16) bool {
	p := [1]unix.PollFd{{Events: events}}
	err := Control(c, func(fd int) error {
		p[0].Fd = int32(fd)
		_, err := Retry(func() (int, error) { return unix.Poll(p[:], 0) })
		return err
	})
	return err == nil && p[0].Revents == 0
}

// ReadFile reads a small file of /proc, /sys or /etc. Unlike os.ReadFile it does not start the runtime's poller, which
// takes twice as many system calls. A file over 64 MiB is EFBIG. Errors are an *os.PathError.
func ReadFile(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	text, err := ReadAll(fd)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return text, nil
}

// ReadAll reads an open file from its start (pread(2)), as ReadFile does.
func ReadAll(fd int) ([]byte, error) {
	text, _, err := readAll(fd)
	return text, err
}

// readAll also reports whether one call has returned all.
func readAll(fd int) (text []byte, once bool, err error) {
	buf := make([]byte, 0, 4096)
	for calls := 0; len(buf) <= maxFile; calls++ {
		n, err := Pread(fd, buf[len(buf):cap(buf)], int64(len(buf)))
		if err != nil || n == 0 {
			return buf, calls <= 1, err
		}
		if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
			buf = slices.Grow(buf, 8*len(buf))
		}
	}
	return nil, false, unix.EFBIG
}

// Open is openat(2). It closes the file again if check refuses its fstat(2). name is the file in errors.
func Open(dir int, path, name string, flags int, check func(*unix.Stat_t) error) (*os.File, error) {
	fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = check(&st)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxTries bounds Openat2: one interrupted lookup in a row is chance, a hundred are an adversary that renames.
const maxTries = 100

// Openat2 is openat2(2), ≥ 5.6. It is repeated after EINTR and after EAGAIN, which is a rename on the way during a
// restricted lookup, or a lease on the file.
func Openat2(dir int, path string, how *unix.OpenHow) (int, error) {
	for try := 1; ; try++ {
		fd, err := unix.Openat2(dir, path, how)
		if err != unix.EINTR && err != unix.EAGAIN || try == maxTries {
			return fd, err
		}
	}
}

// OpenBeneath opens a path below a directory: openat2(2). No symbolic link, mount or ".." leads anywhere else. A file
// that it makes has the mode 0600.
func OpenBeneath(dir int, path string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	if flags&unix.O_CREAT != 0 {
		how.Mode = 0o600
	}
	return Openat2(dir, path, &how)
}

// OpenInRoot opens a path as a process finds it whose root is the directory, through symbolic links: openat2(2). It
// crosses no mount.
func OpenInRoot(dir int, path string, flags int) (int, error) {
	return Openat2(dir, path, &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV})
}

// Xattrs returns the names of the extended attributes of an open file: flistxattr(2). A file system without them has
// none.
func Xattrs(fd int) ([]string, error) {
	names, err := filled(func(b []byte) (int, error) { return unix.Flistxattr(fd, b) })
	if err == unix.EOPNOTSUPP {
		err = nil
	}
	return strings.FieldsFunc(names, func(r rune) bool { return r == 0 }), err
}

// Xattr returns the value of an extended attribute: fgetxattr(2).
func Xattr(fd int, name string) (string, error) {
	return filled(func(b []byte) (int, error) { return unix.Fgetxattr(fd, name, b) })
}

// filled calls a function that fills a buffer, with one that is large enough; 64 KiB are the kernel's own bound. What
// grows meanwhile is ERANGE, and read once more.
func filled(call func([]byte) (int, error)) (string, error) {
	for try := 1; ; try++ {
		n, err := call(nil)
		if n <= 0 || err != nil {
			return "", err
		}
		b := make([]byte, n)
		if n, err = call(b); err != unix.ERANGE || try == 3 {
			return string(b[:max(n, 0)]), err
		}
	}
}

// Flock is flock(2).
func Flock(c syscall.Conn, how int) error {
	return Control(c, func(fd int) error {
		_, err := Retry(func() (int, error) { return 0, unix.Flock(fd, how) })
		return err
	})
}

// IsTerminal reports whether a file is a terminal: ioctl_tty(2).
func IsTerminal(f *os.File) bool {
	return Control(f, func(fd int) error {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}) == nil
}
