package gitview

import (
	"errors"
	"io"
	"os"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// read returns the first bytes of a regular file.
func read(dir int, name string, most int64) ([]byte, error) {
	f, done, err := open(dir, name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	return b, errors.Join(err, done())
}

// open opens a regular file for reading, also if the payload has removed the permission.
func open(dir int, name string) (f *os.File, done func() error, err error) {
	fd, restore, err := owned.Open(dir, name, 0, 0o400)
	if err != nil {
		return nil, nil, err
	}
	f = os.NewFile(uintptr(fd), name)
	done = func() error { return errors.Join(restore(), f.Close()) }
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, errors.Join(err, unix.EINVAL, done())
	}
	return f, done, nil
}

// stat is fstatat(2) of a name itself; nil if it does not exist, or the directory does not.
func stat(dir int, name string) (*unix.Stat_t, error) {
	if dir < 0 {
		return nil, nil
	}
	st := new(unix.Stat_t)
	err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil, nil
	}
	return st, err
}

func isDir(st *unix.Stat_t) bool { return st != nil && st.Mode&unix.S_IFMT == unix.S_IFDIR }

func isRegular(st *unix.Stat_t) bool { return st != nil && st.Mode&unix.S_IFMT == unix.S_IFREG }
