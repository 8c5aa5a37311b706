package changes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/layer"

	"golang.org/x/sys/unix"
)

const (
	look    = unix.O_PATH | unix.O_NOFOLLOW
	holdDir = look | unix.O_DIRECTORY
	// The flags to read a file or a directory. If a FIFO has taken its place, open(2) does not block; a terminal does
	// not become the controlling one.
	read = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
)

// errChanged means that a file was replaced or written to while it was read.
var errChanged = errors.New("it changed while it was read")

// open opens a path below a directory; "" is the directory itself.
func open(dir int, path string, flags int) (int, error) {
	return sys.OpenBeneath(dir, cmp.Or(path, "."), flags)
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

// attributes returns the extended attributes of an open file: user has those in the namespace user, and overlay the
// names of overlayfs's own.
func attributes(fd int) (user []XAttr, overlay []string, err error) {
	names, err := sys.Xattrs(fd)
	if err == unix.E2BIG { // more than 64 KiB of names
		err = errAttributes
	}
	if err != nil {
		return nil, nil, err
	}
	total := 0
	slices.Sort(names)
	for _, full := range names {
		if name, ok := layer.OverlayName(full); ok {
			overlay = append(overlay, name)
			continue
		}
		name, ok := strings.CutPrefix(full, "user.")
		if !ok {
			continue
		}
		value, err := sys.Xattr(fd, full)
		if err != nil {
			return nil, nil, err
		}
		if total += len(value) + len(name); total > maxAttributes {
			return nil, nil, errAttributes
		}
		user = append(user, XAttr{Name(name), []byte(value)})
	}
	return user, overlay, nil
}

// inode identifies a file.
type inode struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

func inodeOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

// has reports whether st is that of the file; nil and the zero inode are of none.
func (i inode) has(st *unix.Stat_t) bool { return st != nil && i == inodeOf(st) }

// open holds the directory that a set belongs to (O_PATH). other accepts another one at its path.
func (d *Dir) open(other bool) (fd int, err error) {
	name := GitQuote(string(d.Path))
	fd, err = unix.Open(string(d.Path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s cannot be opened: %w", name, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Dev != d.Device || st.Ino != d.Inode) && !other {
		err = words.Error(words.Textf("%s is not the directory that the run saw, but another one at its path (device %d "+
			"inode %d, and not %d and %d)%s", name, st.Dev, st.Ino, d.Device, d.Inode,
			words.Clause("; "+words.Set("force", ".")+" takes it all the same")))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
