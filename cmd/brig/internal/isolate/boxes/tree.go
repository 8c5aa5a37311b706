package boxes

import (
	"errors"
	"fmt"
	"slices"

	"brig/internal/owned"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Walk visits a tree that a program has left: of any depth, with any names and modes. It holds one directory at a time,
// follows no link and enters no mount.
type Walk struct {
	UID, GID int   // the new owner, unless UID is negative
	Owners   []int // unless empty: a file is one of theirs, or root's with one name
	Special  bool  // what is neither a file nor a directory stays
	dev      uint64
	levels   []level
}

var errMoved = errors.New("it was moved meanwhile")

// level is a directory that was entered and left for one below it.
type level struct {
	dev, ino uint64
	dirs     []string // still to be visited
	mode     uint32
}

// settle makes uid the owner of a tree, unless it is negative, and removes what is neither a file nor a directory,
// unless special is set.
func (w *Walk) settle(parent int, name string) error {
	w.levels = w.levels[:0]
	fd, err := w.enter(parent, name)
	for err == nil && len(w.levels) > 0 {
		l := &w.levels[len(w.levels)-1]
		next := -1
		if n := len(l.dirs); n > 0 {
			name = l.dirs[n-1]
			l.dirs = l.dirs[:n-1]
			next, err = w.enter(fd, name)
		} else {
			next, err = w.leave(fd)
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		fd = next
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	if err != nil {
		return errorf("Cannot go through the files of the box: %s: %w", words.Quote(name), err)
	}
	return nil
}

// enter opens a directory, handles its files, and adds a level with the directories in it. Its owner can use it until
// leave, whatever its mode.
func (w *Walk) enter(parent int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil { // before Open changes the mode
		return -1, err
	}
	fd, _, err := owned.Open(parent, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return -1, err
	}
	if len(w.levels) == 0 {
		w.dev = st.Dev
	}
	if st.Mode&0o700 != 0o700 {
		err = unix.Fchmod(fd, st.Mode&0o7777|0o700)
	}
	l := level{dev: st.Dev, ino: st.Ino, mode: st.Mode & 0o7777}
	if err == nil {
		l.dirs, err = w.files(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	w.levels = append(w.levels, l)
	return fd, nil
}

// leave ends a directory and returns the one above, which must be the one that was entered from, or -1 at the top.
func (w *Walk) leave(fd int) (up int, err error) {
	up = -1
	done := w.levels[len(w.levels)-1]
	w.levels = w.levels[:len(w.levels)-1]
	if len(w.levels) > 0 {
		if up, err = unix.Openat(fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return -1, err
		}
		var st unix.Stat_t
		err = unix.Fstat(up, &st)
		if l := &w.levels[len(w.levels)-1]; err == nil && (st.Dev != l.dev || st.Ino != l.ino) {
			err = errMoved
		}
	}
	if err == nil && w.UID >= 0 {
		err = unix.Fchown(fd, w.UID, w.GID)
	}
	if err == nil && done.mode&0o700 != 0o700 {
		err = unix.Fchmod(fd, done.mode)
	}
	return up, err
}

// files handles the entries of a directory that are none themselves, and returns the names of those that are.
func (w *Walk) files(fd int) (dirs []string, err error) {
	var buf [8 << 10]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if n <= 0 || err != nil {
			return dirs, err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			dir, err := w.file(fd, name)
			if err != nil {
				return nil, err
			}
			if dir {
				dirs = append(dirs, name)
			}
		}
	}
}

// file handles one entry, and reports whether it is a directory. The file is held meanwhile: who may write to the
// directory can replace it.
func (w *Walk) file(dir int, name string) (bool, error) {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case st.Dev != w.dev:
		return false, fmt.Errorf("unexpected mountpoint %s", words.Quote(name))
	case kind == unix.S_IFDIR:
		return true, nil
	case kind != unix.S_IFREG && !w.Special:
		return false, unix.Unlinkat(dir, name, 0)
	case w.UID < 0:
		return false, nil
	case (st.Nlink > 1 || st.Uid != 0) && len(w.Owners) > 0 && !slices.Contains(w.Owners, int(st.Uid)):
		return false, fmt.Errorf("%s belongs to uid %d and may be linked from elsewhere; put a copy in its "+
			"place, or remove it", words.Quote(name), st.Uid)
	}
	return false, unix.Fchownat(fd, "", w.UID, w.GID, unix.AT_EMPTY_PATH)
}
