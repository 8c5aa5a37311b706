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
	p, r := below(path)
	if r != nil {
		return r
	}
	if err := t.begin(); err != nil {
		return err
	}
	dir, name := p.split()
	fd, err := t.open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return explain("remove", p, err)
	}
	defer unix.Close(fd)
	m := &remover{budget: t.newBudget(), place: p, prefix: ".rm-" + rand.Text() + "-"}
	if err := m.remove(fd, name, p.slash); err != nil {
		return explain("remove", p, err)
	}
	return nil
}

// remover removes one tree. It holds at most two directories at a time, regardless of the depth: a directory two levels
// below the top is moved up to the top and emptied later. That takes no inode, so it works in a full Volume. A payload
// that renames files concurrently can delay it, but cannot make it remove anything outside.
type remover struct {
	budget *budget
	place  place
	prefix string // of the names for moved directories; the payload does not use it
	moved  int
}

func (m *remover) spend() error { return m.budget.spend("remove", m.place) }

func (m *remover) remove(parent int, name string, onlyDir bool) error {
	for round := 0; ; round++ {
		err := m.spend()
		if err == nil {
			err = m.attempt(parent, name, onlyDir)
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

func (m *remover) attempt(parent int, name string, onlyDir bool) error {
	if !onlyDir {
		if err := unix.Unlinkat(parent, name, 0); err != unix.EISDIR {
			return err
		}
	}
	top, err := m.enter(parent, name)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	if err := m.empty(top, func(name string) error { return m.child(top, name) }); err != nil {
		return err
	}
	return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
}

// enter opens a directory for reading and writing, regardless of its mode.
func (m *remover) enter(dir int, name string) (int, error) {
	fd, err := openDir(dir, name)
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

// empty calls f for all names in a directory until none are left: f removes the file. Names that f could not remove
// because the file was replaced are tried again.
func (m *remover) empty(dir int, f func(name string) error) error {
	again, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(again), "") // a separate os.File for Readdirnames
	defer d.Close()
	for any := true; any; {
		any = false
		if _, err := d.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for {
			names, err := d.Readdirnames(256)
			for _, name := range names {
				any = true
				if err := m.spend(); err != nil {
					return err
				}
				if err := f(name); err != nil && !moved(err) {
					return err
				}
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// moved reports whether err means that a name no longer refers to the same file. empty then tries the name again.
func moved(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.EAGAIN:
		return true
	}
	return false
}

// child removes an entry of the top directory. If it is a directory, its files are removed and its subdirectories moved
// to the top.
func (m *remover) child(top int, name string) error {
	if err := unix.Unlinkat(top, name, 0); err != unix.EISDIR {
		return err
	}
	if err := unix.Unlinkat(top, name, unix.AT_REMOVEDIR); err == nil {
		return nil
	}
	fd, err := m.enter(top, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = m.empty(fd, func(name string) error {
		if err := unix.Unlinkat(fd, name, 0); err != unix.EISDIR {
			return err
		}
		if err := unix.Unlinkat(fd, name, unix.AT_REMOVEDIR); err == nil {
			return nil
		}
		return m.raise(fd, name, top)
	})
	if err != nil {
		return err
	}
	return unix.Unlinkat(top, name, unix.AT_REMOVEDIR)
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
