package cgroup

import (
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// directory is a group's directory in one hierarchy. It is open and locked while it is in use.
type directory struct {
	*Branch
	base int // the descriptor of Branch.Base; negative if it has not been opened
	name string
	fd   int // negative if it could not be made
}

func (d *directory) path() string { return path.Join(d.Base, d.name) }

// holds reports whether the directory is that of a version 1 controller.
func (d *directory) holds(controller string) bool {
	return d.Version == 1 && slices.Contains(d.Controllers, controller)
}

// pick returns the file of the directory's version.
func (d *directory) pick(v2, v1 string) string {
	if d.Version == 2 {
		return v2
	}
	return v1
}

// newName returns a name that no other living group has. The number distinguishes the groups of processes with the same
// pid in different pid namespaces.
func newName() string {
	return "brig-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatUint(uint64(rand.Uint32()), 10)
}

// make makes the directory and locks it (flock(2)). The lock tells Sweep that the group is in use, and ends with this
// process. If a sweep removes the directory before it is locked, make takes another name.
func (d *directory) make() error {
	for range 100 {
		err := unix.Mkdirat(d.base, d.name, 0o700) // no other user can open it, and so lock it
		if err == nil {
			if d.fd, err = hold(d.base, d.name); err == nil {
				return nil
			}
			if err != errGone && err != unix.EWOULDBLOCK { // such as EMFILE: nothing must be left
				return errors.Join(err, unix.Unlinkat(d.base, d.name, unix.AT_REMOVEDIR))
			}
		} else if err != unix.EEXIST {
			return err
		}
		d.name = newName()
	}
	return unix.EEXIST
}

// openBase opens the parent of the directory, once.
func (d *directory) openBase() (err error) {
	if d.base < 0 {
		d.base, err = unix.Open(d.Base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	return err
}

// errGone is the error for a group that has been removed.
var errGone = errors.New("the group has been removed")

// hold opens and locks a group's directory. It returns errGone if the name is gone or now belongs to another group, and
// EWOULDBLOCK if the group is in use.
func hold(base int, name string) (int, error) {
	fd, err := unix.Openat(base, name, openDir, 0)
	if err == unix.ENOENT {
		return -1, errGone
	}
	if err != nil {
		return -1, err
	}
	var st, now unix.Stat_t
	if err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil {
		err = unix.Fstatat(base, name, &now, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.ENOENT || err == nil && now.Ino != st.Ino {
			err = errGone
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
