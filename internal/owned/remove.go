package owned

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes a name of a directory, with all that is in it. A name that does not exist is no error.
func Remove(parent int, name string) error {
	m := Remover{Prefix: ".rm-"}
	if err := m.Remove(parent, name, false); err != unix.ENOENT {
		return err
	}
	return nil
}

// Remover removes trees of any modes and depth. It follows no symbolic link. It holds at most two directories at a time
// and needs no recursion: a directory two levels below the top is moved up to the top and emptied later. That takes no
// inode and no space. A payload that changes the tree meanwhile can delay it, but cannot make it remove anything
// outside.
type Remover struct {
	// Prefix begins the names of directories that are moved. A payload that changes the tree must not be able to guess it.
	Prefix string
	// Step, unless nil, is called for each name. Its error ends the call.
	Step func() error

	moved int
}

// Remove removes a name of a directory; with onlyDir, only if it is a directory.
func (m *Remover) Remove(parent int, name string, onlyDir bool) error {
	for round := 0; ; round++ {
		err := m.step()
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

func (m *Remover) step() error {
	if m.Step == nil {
		return nil
	}
	return m.Step()
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
func (m *Remover) clear(parent int, name string) error {
	return m.empty(parent, name, func(top int, name string) error {
		return m.empty(top, name, func(dir int, name string) error { return m.raise(dir, name, top) })
	})
}

// empty removes a directory and all its files, and calls full for its directories with entries. Names that could not be
// removed because the file was replaced are tried again.
func (m *Remover) empty(parent int, name string, full func(dir int, name string) error) error {
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
				if err := m.step(); err != nil {
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

// enter opens a directory whatever its mode, and makes it writable to the owner.
func enter(dir int, name string) (int, error) {
	fd, _, err := Open(dir, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return -1, err
	}
	if _, err = Lend(fd, 0o700); err != nil {
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
func (m *Remover) raise(dir int, name string, top int) error {
	m.moved++
	to := m.Prefix + strconv.Itoa(m.moved)
	err := unix.Renameat2(dir, name, top, to, unix.RENAME_NOREPLACE)
	if err == unix.EACCES {
		fd, uerr := enter(dir, name)
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
