package workspace

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

const (
	// The flags to look at a file, to hold a directory, and to read its names.
	look    = unix.O_PATH | unix.O_NOFOLLOW
	lookDir = look | unix.O_DIRECTORY
	readDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK

	dirMode = 0o755 // of a directory that a caller needs, and does not ask for
)

// look returns the flags to look at the file of a place.
func (p place) look() int {
	if p.slash {
		return lookDir
	}
	return look
}

// root calls f with the descriptor of the Volume's root.
func (t *Tree) root(f func(root int) error) error {
	if t.isClosed() {
		return gone()
	}
	return sys.Control(t.volume.Root(), f)
}

// open opens a place from the Volume's root.
func (t *Tree) open(p place, flags int) (int, error) { return t.openat(p.rel(), flags) }

// openat opens a path below the Volume's root.
func (t *Tree) openat(path string, flags int) (fd int, err error) {
	fd = -1
	err = t.root(func(root int) error {
		fd, err = openat2(root, path, flags)
		return err
	})
	return fd, err
}

// openat2 opens a path below a directory.
func openat2(dir int, path string, flags int) (int, error) {
	fd, err := sys.OpenBeneath(dir, path, flags)
	switch {
	case err == unix.ENOSYS:
		return -1, errors.New("openat2(2) is missing: Linux 5.6 has it")
	case err == unix.ENOTDIR && flags&unix.O_DIRECTORY != 0 && isLink(dir, path):
		return -1, unix.ELOOP // for a symbolic link as the last component the kernel returns ENOTDIR
	}
	return fd, err
}

// isLink reports whether a path is a symbolic link. It only serves to choose the error.
func isLink(dir int, path string) bool {
	fd, err := openat2(dir, path, look)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// makeDirs opens a directory (O_PATH), component by component, and creates missing ones, the last one with a mode.
func (t *Tree) makeDirs(p place, last uint32) (int, error) {
	cur, err := t.open(place{names: p.names[:1]}, lookDir)
	if err != nil {
		return -1, err
	}
	for i, name := range p.names[1:] {
		mode := uint32(dirMode)
		if i == len(p.names)-2 {
			mode = last
		}
		child, err := t.makeDir(cur, name, mode)
		unix.Close(cur)
		if err != nil {
			return -1, err
		}
		cur = child
	}
	return cur, nil
}

// makeDir opens one directory (O_PATH), and creates it with a mode if it is missing: mkdirat(2).
func (t *Tree) makeDir(dir int, name string, mode uint32) (int, error) {
	fd, err := openat2(dir, name, lookDir)
	if err != unix.ENOENT {
		return fd, err
	}
	if err = unix.Mkdirat(dir, name, 0o700); err == unix.EEXIST {
		return openat2(dir, name, lookDir)
	} else if err != nil {
		return -1, err
	}
	if fd, err = openat2(dir, name, readDir); err != nil {
		return -1, err
	}
	if err = t.give(fd, mode); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// give makes the payload's user the owner of a file that the host has created, and sets its mode: fchown(2), fchmod(2).
func (t *Tree) give(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if uid, gid := t.volume.Owner(); int(st.Uid) != uid || int(st.Gid) != gid {
		if err := unix.Fchown(fd, uid, gid); err != nil {
			// not explain's text for EPERM, which is about file modes
			return fmt.Errorf("give it to the payload's user %d:%d, whom only root or that user may serve: %s", uid, gid, err)
		}
	}
	return unix.Fchmod(fd, mode)
}
