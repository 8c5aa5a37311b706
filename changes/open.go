package changes

import (
	"errors"
	"slices"
	"strings"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/layer"

	"golang.org/x/sys/unix"
)

const (
	// beneath has the flags for every lookup: openat2(2), Linux 5.6.
	beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV
	look    = unix.O_PATH | unix.O_NOFOLLOW
	holdDir = look | unix.O_DIRECTORY
	// The flags to read a file or a directory: a FIFO that takes its place does not block, a terminal is not taken.
	read = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
)

// errChanged means that a file was replaced or written to while it was read.
var errChanged = errors.New("it changed while it was read")

// open opens a path below a directory; "" is the directory itself.
func open(dir int, path string, flags int) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: beneath}
	if flags&unix.O_CREAT != 0 {
		how.Mode = 0o600
	}
	return sys.Openat2(dir, path, &how)
}

// missing reports whether a lookup found nothing, or a file in the place of a directory.
func missing(err error) bool { return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP }

// names returns the sorted names in a directory.
func names(dir int) ([]string, error) {
	list, err := owned.Names(dir)
	slices.Sort(list)
	return list, err
}

// namesIn is names of a path below a directory.
func namesIn(dir int, path string) ([]string, error) {
	fd, err := open(dir, path, holdDir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return names(fd)
}

// stat is fstatat(2) of a name itself. For a missing name it returns nil and no error.
func stat(dir int, name string) (*unix.Stat_t, error) {
	st := new(unix.Stat_t)
	err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil, nil
	}
	return st, err
}

// same reports whether two stats are of one file that was not written to in between. st_ctim is not compared: a rename
// changes it.
func same(a, b *unix.Stat_t) bool {
	return a != nil && b != nil && a.Dev == b.Dev && a.Ino == b.Ino && a.Mode == b.Mode && a.Size == b.Size &&
		a.Mtim == b.Mtim
}

// maxAttributes bounds the bytes of a file's attributes.
const maxAttributes = 256 << 10

var errAttributes = errors.New("its extended attributes are larger than 256 KiB")

// attributes returns the extended attributes of an open file: flistxattr(2). user has those in the namespace user, and
// overlay the names of overlayfs's own.
func attributes(fd int) (user []XAttr, overlay []string, err error) {
	n, err := unix.Flistxattr(fd, nil)
	if err == unix.E2BIG { // more than 64 KiB of names
		return nil, nil, errAttributes
	}
	if err == unix.ENOTSUP || err == nil && n == 0 {
		return nil, nil, nil
	}
	list := make([]byte, n+1024)
	if err == nil {
		n, err = unix.Flistxattr(fd, list)
	}
	if err != nil {
		return nil, nil, err
	}
	total, sorted := 0, strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00")
	slices.Sort(sorted)
	for _, full := range sorted {
		if name, ok := layer.OverlayName(full); ok {
			overlay = append(overlay, name)
			continue
		}
		name, ok := strings.CutPrefix(full, "user.")
		if !ok {
			continue
		}
		value, err := attribute(fd, full)
		if err != nil {
			return nil, nil, err
		}
		if total += len(value) + len(name); total > maxAttributes {
			return nil, nil, errAttributes
		}
		user = append(user, XAttr{Name(name), value})
	}
	return user, overlay, nil
}

// attribute is fgetxattr(2).
func attribute(fd int, name string) ([]byte, error) {
	value := make([]byte, 256)
	n, err := unix.Fgetxattr(fd, name, value)
	if err == unix.ERANGE {
		value = make([]byte, 64<<10) // XATTR_SIZE_MAX
		n, err = unix.Fgetxattr(fd, name, value)
	}
	return value[:max(n, 0)], err
}
