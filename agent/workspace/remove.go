package workspace

import (
	"crypto/rand"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes a file of any type, or a directory with everything in it, regardless of their modes. It removes a
// symbolic link itself, not its target. If it takes too long, the rest remains (CodeTooMuch), and another call
// continues.
func (t *Tree) Remove(path string) error {
	p, err := t.begin(path, below)
	if err != nil {
		return err
	}
	dir, name := p.split()
	fd, err := t.open(dir, lookDir)
	if err != nil {
		return explain("remove", p, err)
	}
	defer unix.Close(fd)
	m := &remover{budget: t.newBudget("remove"), place: p, prefix: ".rm-" + rand.Text() + "-"}
	if err := m.remove(fd, name); err != nil {
		return explain("remove", p, err)
	}
	return nil
}

// remover removes one tree. It holds at most two directories at a time, regardless of the depth: a directory two levels
// below the top is moved up to the top and emptied later. That takes no inode, so it works in a full Volume. A payload
// that renames files concurrently can delay it, but cannot make it remove anything outside.
type remover struct {
	*budget
	place  place
	prefix string // of the names for moved directories; the payload does not use it
	moved  int
}

func (m *remover) remove(parent int, name string) error {
	onlyDir := m.place.slash
	for round := 0; ; round++ {
		err := m.spend(m.place)
		if err == nil && onlyDir {
			err = m.clear(parent, name)
		} else if err == nil {
			err = unlink(parent, name, m.clear)
		}
		switch {
		case err == unix.ENOENT && round > 0:
			return nil // another call has removed the rest
		case err == unix.ENOTEMPTY, !onlyDir && (err == unix.ENOTDIR || err == unix.ELOOP):
			continue // a payload added files, or replaced the directory
		default:
			return err
		}
	}
}

// unlink removes a file or an empty directory, and calls full for a directory with entries.
func unlink(dir int, name string, full func(dir int, name string) error) error {
	if err := unix.Unlinkat(dir, name, 0); err != unix.EISDIR {
		return err
	}
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err == nil {
		return nil
	}
	return full(dir, name)
}

// clear removes the top directory. It moves what is two levels below to the top, until nothing is left.
func (m *remover) clear(parent int, name string) error {
	return m.empty(parent, name, func(top int, name string) error {
		return m.empty(top, name, func(dir int, name string) error { return m.raise(dir, name, top) })
	})
}

// empty removes a directory and all its files, and calls full for its directories with entries. Names that could not be
// removed because the file was replaced are tried again.
func (m *remover) empty(parent int, name string, full func(dir int, name string) error) error {
	dir, err := enter(parent, name)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(dir), name)
	defer d.Close()
	for any := true; any; {
		any = false
		if _, err := d.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for err = nil; err != io.EOF; {
			var names []string
			if names, err = d.Readdirnames(256); err != nil && err != io.EOF {
				return err
			}
			for _, name := range names {
				any = true
				if err := m.spend(m.place); err != nil {
					return err
				}
				if err := unlink(dir, name, full); err != nil && !moved(err) {
					return err
				}
			}
		}
	}
	return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
}

// enter opens a directory for reading and writing, regardless of its mode.
func enter(dir int, name string) (int, error) {
	fd, err := openat2(dir, name, readDir, 0)
	if err == unix.EACCES {
		return unlock(dir, name)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&0o700 != 0o700 {
		err = unix.Fchmod(fd, 0o700)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// moved reports whether err means that a name no longer refers to the same file. empty then tries the name again.
func moved(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.EAGAIN:
		return true
	}
	return false
}

// raise moves a directory to the top. renameat2(2) needs write permission for the directory, since its ".." changes.
func (m *remover) raise(dir int, name string, top int) error {
	m.moved++
	to := m.prefix + strconv.Itoa(m.moved)
	err := unix.Renameat2(dir, name, top, to, unix.RENAME_NOREPLACE)
	if err == unix.EACCES {
		fd, uerr := unlock(dir, name)
		if uerr != nil {
			return uerr
		}
		unix.Close(fd)
		err = unix.Renameat2(dir, name, top, to, unix.RENAME_NOREPLACE)
	}
	if err == unix.EINVAL { // the top is now below it
		return unix.EBUSY
	}
	return err
}
