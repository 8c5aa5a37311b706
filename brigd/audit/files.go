package audit

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

const (
	newSuffix  = ".new"
	tornSuffix = ".torn"
)

// numbered returns the name of the older file number n.
func numbered(base string, n int) string { return fmt.Sprintf("%s.%06d", base, n) }

// numberOf returns the number in an older file's name, or 0 for another name.
func numberOf(base, name string) int {
	text, ok := strings.CutPrefix(name, base+".")
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < 1 || numbered(base, n) != name {
		return 0
	}
	return n
}

// numbersIn returns the sorted numbers of a log's older files.
func numbersIn(dir, base string) (list []int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if n := numberOf(base, e.Name()); n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

// numbers returns the numbers of this log's older files. The path refers to the open directory.
func (l *Log) numbers() ([]int, error) {
	return numbersIn("/proc/self/fd/"+strconv.Itoa(int(l.dir.Fd())), l.base)
}

// openDir opens the log's directory, and creates it if it does not exist. It is an error if other users may rename
// files in it.
func openDir(path string) (*os.File, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return sys.Open(unix.AT_FDCWD, path, path, unix.O_RDONLY|unix.O_DIRECTORY, func(st *unix.Stat_t) error {
		switch {
		case st.Uid != 0 && int(st.Uid) != os.Geteuid() && os.Geteuid() != 0:
			return fmt.Errorf("its directory belongs to user %d; put it into one of your own", st.Uid)
		case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
			return fmt.Errorf("its directory has mode %04o, so that others can put another file in its place: chmod go-w %s",
				st.Mode&0o7777, path)
		}
		return nil
	})
}

// openFile opens a regular file in the log's directory. It is an error if it is a symbolic link, has several hard
// links, belongs to another user, is writable by its group, or is accessible to others.
func openFile(dir *os.File, name string, flags int) (*os.File, error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := sys.Open(int(dir.Fd()), name, dir.Name()+"/"+name, flags, func(st *unix.Stat_t) error {
		switch {
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return fmt.Errorf("%s is not a regular file", name)
		case int(st.Uid) != os.Geteuid():
			return fmt.Errorf("%s belongs to user %d, and must be that of user %d", name, st.Uid, os.Geteuid())
		case st.Nlink != 1:
			return fmt.Errorf("%s has %d hard links; it must have one name only", name, st.Nlink)
		case st.Mode&0o037 != 0:
			return fmt.Errorf("%s has mode %04o, which lets others at it: chmod 600 it", name, st.Mode&0o7777)
		}
		return nil
	})
	var failed *os.PathError
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link; name the file itself", name)
	} else if errors.As(err, &failed) {
		failed.Path = name
	}
	return f, err
}

// lockFile locks the log for this process until the descriptor is closed.
func lockFile(dir *os.File, name string) (*os.File, error) {
	f, err := openFile(dir, name, unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { // flock(2)
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another process writes it; stop that one, or name another file")
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// remove removes a file, if it exists.
func remove(dir *os.File, name string) error {
	if err := unix.Unlinkat(int(dir.Fd()), name, 0); err != nil && !errors.Is(err, unix.ENOENT) { // unlinkat(2)
		return &os.PathError{Op: "remove", Path: name, Err: err}
	}
	return nil
}

// fileID identifies a file by st_dev and st_ino of stat(2).
type fileID struct{ dev, ino uint64 }

// identify returns the id of an open file, or one that no file has if fstat(2) fails.
func identify(f *os.File) fileID {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fileID{}
	}
	return fileID{st.Dev, st.Ino}
}
