package gitview

import (
	"cmp"
	"errors"

	"golang.org/x/sys/unix"
)

// rename moves a file to its name, if the host still has there what the comparer has seen.
func rename(ch *change, dir int, temp, name string) error {
	if locked(dir, name) {
		return errHost
	}
	if ch.old == nil {
		err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
		if err == unix.EINVAL || err == unix.ENOSYS { // the file system has no flags
			err = unix.Linkat(dir, temp, dir, name, 0)
		}
		if err == unix.EEXIST {
			return taken(dir, name)
		}
		return err
	}
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE)
	switch {
	case err == unix.EINVAL || err == unix.ENOSYS:
		if now, err := stat(dir, name); err != nil || !unchanged(now, ch.old) {
			return errors.Join(err, errHost)
		}
		return unix.Renameat(dir, temp, dir, name)
	case err == unix.ENOENT:
		return errHost
	case err != nil:
		return err
	}
	if now, err := stat(dir, temp); err != nil || !unchanged(now, ch.old) {
		return cmp.Or(unix.Renameat2(dir, temp, dir, name, unix.RENAME_EXCHANGE), errHost)
	}
	return nil
}

// taken returns why a name exists: a directory may be one that the payload has removed.
func taken(dir int, name string) error {
	if now, err := stat(dir, name); err == nil && isDir(now) {
		return errWay
	}
	return errHost
}

// remove removes a file, if the host still has there what the comparer has seen, or an empty directory.
func (b *bringer) remove(ch *change, dir int, name string) error {
	if isDir(ch.old) {
		if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != unix.ENOTEMPTY && err != unix.EEXIST &&
			err != unix.ENOENT && err != unix.EBUSY {
			return err
		}
		return nil
	}
	now, err := stat(dir, name)
	switch {
	case err != nil || now == nil:
		return err
	case !unchanged(now, ch.old) || locked(dir, name):
		return errHost
	}
	b.report.Removed++
	return unix.Unlinkat(dir, name, 0)
}

// locked reports whether a git of the host is about to write a file.
func locked(dir int, name string) bool {
	st, err := stat(dir, name+".lock")
	return st != nil || err != nil && err != unix.ENAMETOOLONG
}

// unchanged reports whether two stats are of one file that was not written to in between. A rename changes st_ctim.
func unchanged(a, b *unix.Stat_t) bool {
	return a != nil && a.Dev == b.Dev && a.Ino == b.Ino && a.Mode == b.Mode && a.Size == b.Size && a.Mtim == b.Mtim
}
