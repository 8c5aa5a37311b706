package workspace

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// beneath is how every path is looked up from the Volume's root: openat2(2), Linux 5.6.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// control calls f with the descriptor of a file, which stays open meanwhile: its number cannot become another file's.
func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return os.ErrClosed // it says so in a word of package internal/poll
	}
	return inner
}

// root calls f with the descriptor of the Volume's root.
func (t *Tree) root(f func(root int) error) error {
	if t.isClosed() {
		return gone()
	}
	return control(t.volume.Root(), f)
}

// open opens a place from the root.
func (t *Tree) open(p place, flags int) (fd int, err error) {
	fd = -1
	err = t.root(func(root int) error {
		fd, err = openat2(root, p.rel(), flags, 0)
		return err
	})
	return fd, err
}

// openat2 opens a path below a directory (sys.Openat2).
func openat2(dir int, path string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Mode: uint64(mode), Resolve: beneath}
	fd, err := sys.Openat2(dir, path, &how)
	switch {
	case err == unix.ENOSYS:
		return -1, errors.New("openat2(2) is missing: Linux 5.6 has it")
	case err == unix.ENOTDIR && flags&unix.O_DIRECTORY != 0 && isLink(dir, path):
		return -1, unix.ELOOP // the kernel's errno for any link at the end is ENOTDIR
	}
	return fd, err
}

// isLink is for a better word only.
func isLink(dir int, path string) bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath}
	fd, err := unix.Openat2(dir, path, &how)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// openDir opens a directory, to read its names.
func openDir(dir int, name string) (int, error) {
	return openat2(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// unlock opens a directory whose mode forbids it to its owner, after changing the mode to 0700. The chmod(2) goes
// through the descriptor that was looked at, by its name in /proc: fchmod(2) refuses O_PATH, fchmodat(2) would follow a
// link that has taken the name meanwhile, and fchmodat2(2) is of Linux 6.6.
func unlock(dir int, name string) (int, error) {
	seen, err := openat2(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(seen)
	self := "/proc/self/fd/" + strconv.Itoa(seen)
	if err := unix.Chmod(self, 0o700); err != nil {
		return -1, fmt.Errorf("chmod a directory by %s: %w", self, err)
	}
	return openDir(seen, ".")
}

// makeDirs opens a directory (O_PATH), one name at a time, and makes what does not exist.
func (t *Tree) makeDirs(p place) (int, error) {
	cur, err := t.open(place{area: p.area}, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	for _, name := range p.names {
		child, err := t.makeDir(cur, name)
		unix.Close(cur)
		if err != nil {
			return -1, err
		}
		cur = child
	}
	return cur, nil
}

// makeDir opens one directory (O_PATH), and makes it if it does not exist: mkdirat(2).
func (t *Tree) makeDir(dir int, name string) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW
	fd, err := openat2(dir, name, unix.O_PATH|flags, 0)
	if err != unix.ENOENT {
		return fd, err
	}
	if err = unix.Mkdirat(dir, name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	fresh := err == nil
	if !fresh {
		return openat2(dir, name, unix.O_PATH|flags, 0)
	}
	fd, err = openDir(dir, name)
	if err != nil {
		return -1, err
	}
	if err = t.own(fd); err == nil {
		err = unix.Fchmod(fd, 0o755)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// own returns what the host has made to the payload's user: fchown(2).
func (t *Tree) own(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	uid, gid := t.volume.Owner()
	if int(st.Uid) == uid && int(st.Gid) == gid {
		return nil
	}
	if err := unix.Fchown(fd, uid, gid); err != nil {
		// not explain's EPERM, which is about modes
		return fmt.Errorf("give it to the payload's user %d:%d, whom only root or that user may serve: %s", uid, gid, err)
	}
	return nil
}
