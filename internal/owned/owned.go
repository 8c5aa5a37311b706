// Package owned opens and removes files of this process's user regardless of their modes, which a payload has chosen.
package owned

import (
	"errors"
	"os"
	"strconv"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Open opens a regular file or directory for reading, and follows no link. If its mode forbids that, bits are added to
// it until restore is called, which must be before fd is closed. flags are those of open(2) besides O_RDONLY.
func Open(dir int, name string, flags int, bits uint32) (fd int, restore func() error, err error) {
	flags |= unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY // a FIFO in the place of a file does not block
	if fd, err = open(dir, name, flags); err != unix.EACCES {
		return fd, nothing, err
	}
	held, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return -1, nothing, err
	}
	defer unix.Close(held)
	var st unix.Stat_t
	if err = unix.Fstat(held, &st); err != nil {
		return -1, nothing, err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return -1, nothing, unix.EACCES
	}
	undo, err := Lend(held, bits)
	if err != nil {
		return -1, nothing, err
	}
	if fd, err = unix.Open(self(held), flags|unix.O_CLOEXEC, 0); err != nil {
		return -1, nothing, errors.Join(err, undo())
	}
	return fd, func() error { return unix.Fchmod(fd, st.Mode&0o7777) }, nil
}

func nothing() error { return nil }

// Lend adds bits to the mode of an open file (O_PATH too) until restore is called, before fd is closed.
func Lend(fd int, bits uint32) (restore func() error, err error) {
	var st unix.Stat_t
	mode := func() uint32 { return st.Mode & 0o7777 }
	if err := unix.Fstat(fd, &st); err != nil || mode()&bits == bits {
		return nothing, err
	}
	return func() error { return Chmod(fd, mode()) }, Chmod(fd, mode()|bits)
}

// Chmod sets the mode of an open file (O_PATH too).
func Chmod(fd int, mode uint32) error { return unix.Chmod(self(fd), mode) }

// self is a path by which open(2) and chmod(2) reach the file of a descriptor. fchmod(2) rejects O_PATH, fchmodat(2)
// would follow a symbolic link that has replaced the file, and fchmodat2(2) requires Linux 6.6.
func self(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Names returns the names in a directory.
func Names(dir int) ([]string, error) {
	again, err := open(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY) // with an offset of its own
	if err != nil {
		return nil, err
	}
	d := os.NewFile(uintptr(again), "")
	defer d.Close()
	return d.Readdirnames(-1)
}

// open opens a name of a directory, and follows no link and crosses no mount.
func open(dir int, name string, flags int) (int, error) {
	return sys.OpenBeneath(dir, name, flags|unix.O_NOFOLLOW)
}
