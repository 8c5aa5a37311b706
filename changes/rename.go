package changes

import (
	"errors"

	"golang.org/x/sys/unix"
)

// move renames a file to a name that nothing has: renameat2(2), RENAME_NOREPLACE. On a file system without flags,
// something that gets the name at the same moment is lost.
func move(dir int, from, to string) error {
	err := unix.Renameat2(dir, from, dir, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if st, err := stat(dir, to); st != nil || err != nil {
		return errors.Join(err, unix.EEXIST)
	}
	return unix.Renameat(dir, from, dir, to)
}

// spare ends the name of a file while two are exchanged without RENAME_EXCHANGE.
const spare = "-old"

// exchange exchanges two files: renameat2(2), RENAME_EXCHANGE. On a file system without it, a directory has no name for
// a moment, and what the host writes at the same moment is lost; settle ends an exchange that was killed.
func exchange(dir int, temp, name string) error {
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err = unix.Linkat(dir, name, dir, temp+spare, 0); err != nil { // a directory, or no hard links
		if err = move(dir, name, temp+spare); err != nil {
			return err
		}
	}
	if err = unix.Renameat(dir, temp, dir, name); err != nil {
		return errors.Join(err, unix.Renameat(dir, temp+spare, dir, name))
	}
	return unix.Renameat(dir, temp+spare, dir, temp)
}

// settle ends an exchange that was killed on a file system without RENAME_EXCHANGE.
func settle(u *unit, dir int, temp, name string) error {
	old, err := stat(dir, temp+spare)
	if err != nil || u.new == (inode{}) || !u.old.has(old) { // or it is somebody else's
		return err
	}
	now, err := stat(dir, name)
	switch {
	case err != nil:
		return err
	case now == nil:
		return unix.Renameat(dir, temp+spare, dir, name)
	case inodeOf(now).has(old): // two links
		return unix.Unlinkat(dir, temp+spare, 0)
	}
	return move(dir, temp+spare, temp)
}
