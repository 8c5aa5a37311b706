// Package store keeps things of this process's user in a directory from one process to the next: change sets, images,
// sandboxes, the changes of running jails, the notes of ghosts. Each kind has its own names in it; what they have in
// common is here.
//
// A directory is opened and checked once (Open), and what is in it is reached through its descriptor from then on,
// wherever the path leads by now. What is in the making has the name of a draft, and its process has locked it: Draft.
// It gets its own name when it is complete and on the disk: Publish. The lock, flock(2), ends with its process: a draft
// without a lock is of a dead process, and Evict and Sweep remove it. No process sees part of a thing, even after
// SIGKILL or a power failure.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
)

// The permissions that nobody but the owner may have.
const (
	Writing = 0o022 // others may read what is there
	Any     = 0o077
)

// careful returns the flags with which a file of a store is opened. If a FIFO has taken its place, open(2) does not
// block; a terminal does not become the controlling one. A directory cannot block, and the runtime would poll it.
func careful(flags int) int {
	if flags&unix.O_DIRECTORY == 0 {
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	return flags | unix.O_NOFOLLOW
}

// Dir is a directory of things, and held open. Its methods may be called concurrently.
type Dir struct{ f *os.File }

// NotOwn is the error for a file that is another user's, or that others may change.
type NotOwn struct {
	UID  uint32 // st_uid
	Mode uint32 // the permissions, of st_mode
}

// Error names both.
func (e *NotOwn) Error() string {
	return fmt.Sprintf("it belongs to uid %d and has mode %#o; it must be yours, and writable for nobody else", e.UID,
		e.Mode)
}

// Check returns a *NotOwn unless a file belongs to this process's user, and nobody else has any of the permissions.
func Check(st *unix.Stat_t, others uint32) error {
	if int(st.Uid) != unix.Geteuid() || st.Mode&others != 0 {
		return &NotOwn{st.Uid, st.Mode & 0o7777}
	}
	return nil
}

// Open opens a directory. The error is a *NotOwn if Check refuses it. flags are those of open(2) besides O_DIRECTORY,
// such as O_NOFOLLOW.
func Open(path string, flags int, others uint32) (*Dir, error) {
	f, err := sys.Open(unix.AT_FDCWD, path, path, unix.O_RDONLY|unix.O_DIRECTORY|flags,
		func(st *unix.Stat_t) error { return Check(st, others) })
	if err != nil {
		return nil, err
	}
	return &Dir{f}, nil
}

// Path returns the path by which the directory was opened, for messages.
func (d *Dir) Path() string { return d.f.Name() }

// Close closes the directory. Its methods return an error afterwards; files that they have opened stay open.
func (d *Dir) Close() error { return d.f.Close() }

// Sync brings the names in a directory to the disk, "." for this one: fsync(2).
func (d *Dir) Sync(path string) error {
	f, err := d.Open(path, unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Lock locks the whole directory, until it is closed or unlocked: flock(2).
func (d *Dir) Lock(how int) error { return lock(d.f, how) }

// At calls f with the directory's descriptor, which is not closed meanwhile.
func (d *Dir) At(f func(dir int) error) error { return sys.Control(d.f, f) }

// in calls f with the directory and the name of what has a path below this one. No link is followed on the way.
func (d *Dir) in(path string, f func(dir int, name string) error) error {
	parent, name := filepath.Split(path)
	return d.At(func(dir int) error {
		if parent == "" {
			return f(dir, name)
		}
		fd, err := sys.OpenBeneath(dir, parent, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return f(fd, name)
	})
}

// fail returns an error about what has a path below the directory.
func (d *Dir) fail(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.Path(), path), Err: err}
}

// Names returns the names that ours accepts, sorted.
func (d *Dir) Names(ours func(name string) bool) (list []string, err error) {
	err = d.At(func(dir int) error {
		list, err = owned.Names(dir)
		return err
	})
	list = slices.DeleteFunc(list, func(name string) bool { return !ours(name) })
	slices.Sort(list)
	return list, err
}

// Open opens what has a path below the directory: sys.OpenBeneath. A file that it makes has the mode 0600.
func (d *Dir) Open(path string, flags int) (*os.File, error) {
	fd := -1
	err := d.At(func(dir int) (err error) {
		fd, err = sys.OpenBeneath(dir, path, careful(flags))
		return err
	})
	if err != nil {
		return nil, d.fail("open", path, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.Path(), path)), nil
}

// Stat is fstatat(2) of what has a path below the directory, a link itself.
func (d *Dir) Stat(path string) (st unix.Stat_t, err error) {
	err = d.in(path, func(dir int, name string) error {
		return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, d.fail("stat", path, err)
}
