package store

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
)

// ErrBusy is the error for what another process holds.
var ErrBusy = errors.New("another process is at work on it")

// lock is flock(2).
func lock(f *os.File, how int) error {
	err := sys.Flock(f, how)
	if err == unix.EWOULDBLOCK {
		return ErrBusy
	}
	return os.NewSyscallError("flock", err)
}

// Hold opens a file or directory, and locks it until it is closed: flock(2). The error is fs.ErrNotExist also where
// another process has removed or replaced it meanwhile, and ErrBusy where how has LOCK_NB and another process has the
// lock.
func (d *Dir) Hold(name string, flags, how int) (f *os.File, err error) {
	if f, err = d.Open(name, flags); err != nil {
		return nil, err
	}
	err = d.At(func(dir int) error { return take(f, dir, name, how) })
	return whole(f, err)
}

// Hold is Dir.Hold for a path, whose last component is no link.
func Hold(path string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return whole(f, take(f, unix.AT_FDCWD, path, how))
}

// whole returns a file, or closes it if there is an error.
func whole(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// take locks an open file that must have its name still.
func take(f *os.File, dir int, name string, how int) error {
	if err := lock(f, how); err != nil {
		return err
	}
	var st, now unix.Stat_t
	err := sys.Control(f, func(fd int) error { return unix.Fstat(fd, &st) })
	if err == nil {
		err = unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && (st.Dev != now.Dev || st.Ino != now.Ino) {
		err = unix.ENOENT
	}
	if err != nil {
		return &fs.PathError{Op: "hold", Path: f.Name(), Err: err}
	}
	return nil
}

// maxStolen bounds Draft: one draft that another process takes for a dead one's is chance.
const maxStolen = 100

// Draft makes a directory with the next name that does not exist, and holds it. Before it does, another process may
// remove it as if it were a dead one's; then it takes the next name.
func (d *Dir) Draft(next func() string) (name string, held *os.File, err error) {
	for stolen := 0; stolen < maxStolen; {
		name = next()
		if err = d.Mkdir(name, 0o700); errors.Is(err, unix.EEXIST) {
			continue
		} else if err != nil {
			return "", nil, err
		}
		held, err = d.Hold(name, unix.O_DIRECTORY, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return name, held, nil
		}
		if !errors.Is(err, ErrBusy) && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, d.Drop(name)) // such as EMFILE
		}
		stolen++
	}
	return "", nil, err
}

// Create makes a file with a new name, prefix and a number, and holds it.
func (d *Dir) Create(prefix string) (name string, held *os.File, err error) {
	for {
		name = Numbered(prefix)()
		held, err = d.Hold(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, unix.LOCK_EX)
		if !errors.Is(err, unix.EEXIST) {
			return name, held, err
		}
	}
}

// Numbered returns the names for Draft that begin with prefix and end with a number.
func Numbered(prefix string) (next func() string) {
	return func() string { return prefix + strconv.FormatUint(uint64(rand.Uint32()), 10) }
}

// Mkdir makes a directory: mkdirat(2).
func (d *Dir) Mkdir(path string, mode uint32) error {
	return d.fail("mkdir", path, d.in(path, func(dir int, name string) error { return unix.Mkdirat(dir, name, mode) }))
}

// Symlink makes a symbolic link: symlinkat(2).
func (d *Dir) Symlink(target, path string) error {
	return d.fail("symlink", path, d.in(path, func(dir int, name string) error {
		return unix.Symlinkat(target, dir, name)
	}))
}

// Publish renames a complete draft to its name, in the place of a file that had it. f is the open draft: its content,
// or the names in a directory, are on the disk before the name is, and that when it returns.
func (d *Dir) Publish(f *os.File, draft, path string) error {
	err := f.Sync()
	if err == nil {
		err = d.Rename(draft, path)
	}
	if err == nil {
		err = d.Sync(filepath.Dir(path))
	}
	return err
}

// Rename renames a thing, or a file in one, in the place of a file that had the new name.
func (d *Dir) Rename(from, to string) error { return d.rename(from, to, 0) }

// Move is Rename where nothing may have the new name yet: EEXIST.
func (d *Dir) Move(from, to string) error { return d.rename(from, to, unix.RENAME_NOREPLACE) }

func (d *Dir) rename(from, to string, flags uint) error {
	return d.fail("rename", from, d.in(from, func(old int, from string) error {
		return d.in(to, func(dir int, to string) error {
			if flags == 0 {
				return unix.Renameat(old, from, dir, to)
			}
			return unix.Renameat2(old, from, dir, to, flags)
		})
	}))
}

// Unlink removes a file: unlinkat(2).
func (d *Dir) Unlink(path string) error {
	return d.fail("remove", path, d.in(path, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) }))
}

// Drop removes a file, or a directory with all that is in it. The caller has locked it, or no other process can reach
// it by now. A missing path is no error.
func (d *Dir) Drop(path string) error { return d.fail("remove", path, d.in(path, owned.Remove)) }

// Retire is Drop of a directory that other processes open by its name. It first has the draft's name gone, so that none
// of them finds it half removed.
func (d *Dir) Retire(name, gone string) error {
	if err := d.Rename(name, gone); err != nil {
		return err
	}
	return d.Drop(gone)
}

// Evict retires a directory, or drops it where gone is "", unless a process holds it: ErrBusy. It is ENOTDIR for what
// is no directory.
func (d *Dir) Evict(name, gone string) error {
	held, err := d.Hold(name, unix.O_DIRECTORY, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return err
	}
	if gone != "" {
		err = d.Retire(name, gone)
	} else {
		err = d.Drop(name)
	}
	return errors.Join(err, held.Close())
}

// Sweep evicts the directories that ours accepts. busy is the number of those that living processes hold.
func (d *Dir) Sweep(ours func(name string) bool) (removed []string, busy int, err error) {
	names, err := d.Names(ours)
	errs := []error{err}
	for _, name := range names {
		switch err := d.Evict(name, ""); {
		case err == nil:
			removed = append(removed, name)
		case errors.Is(err, ErrBusy):
			busy++
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR): // it has ended meanwhile, or is no thing
		default:
			errs = append(errs, err)
		}
	}
	return removed, busy, errors.Join(errs...)
}
