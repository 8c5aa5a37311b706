package workspace

import (
	"crypto/rand"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes a file of any type, or a directory with all that is in it, whatever their modes; a symbolic link, not
// what it leads to. What takes too long stays half removed (CodeTooMuch): a next call goes on.
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

// remover removes one tree. It holds two directories at a time, however deep the tree: a directory two levels below the
// top is moved up to the top, where its turn comes, and what has been emptied is removed. That takes no inode, so it
// works in a full Volume; and a payload that moves things about meanwhile can make it busy, but not lead it elsewhere.
type remover struct {
	budget *budget
	place  place
	prefix string // of names that the payload does not use
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
			continue // filled again, or no longer a directory
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

// enter opens a directory to read and change it, whatever its mode.
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

// empty calls f for all names in a directory until there are none: f removes each. One that f could not reach because
// it has been replaced is met again.
func (m *remover) empty(dir int, f func(name string) error) error {
	again, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(again), "") // a File of its own, which Readdirnames needs
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

// moved reports whether a name does not lead to the same file any more: it is met again, whatever it is now.
func moved(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST, unix.EAGAIN:
		return true
	}
	return false
}

// child removes what is in the top directory: of a directory, the files, and its directories come up.
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

// raise moves a directory to the top: renameat2(2), which has to be allowed to write into it, for its "..".
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
	if err == unix.EINVAL { // the top lies in it by now
		return unix.EBUSY
	}
	return err
}
