package layer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// dir is an open directory on the way to an entry.
type dir struct {
	name  string // in its parent, as the archive has it
	fd    int
	inode inode
	depth int           // levels below the root, also where a symbolic link has led
	time  unix.Timespec // of modification, to be set again once something else in the directory has changed
	dirty bool
}

// stack holds the directories on the way to an entry, the root first. Entries mostly come in the order of a walk, so
// most of it remains for the next one.
type stack []dir

func (s stack) top() *dir { return &s[len(s)-1] }

// start opens the root again, so that closing the stack leaves the caller's descriptor open.
func (s *stack) start(root int) error {
	fd, err := sys.OpenBeneath(root, ".", readDir)
	if err != nil {
		return err
	}
	return s.push("", fd, 0)
}

// push takes an open directory.
func (s *stack) push(name string, fd, depth int) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && depth > maxDepth { // a symbolic link has led deeper than the name's components, which were checked
		err = fmt.Errorf("more than %d levels of directories", maxDepth)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	*s = append(*s, dir{name, fd, inodeOf(&st), depth, st.Mtim, false})
	return nil
}

// close closes all but the first directories, and sets their times.
func (s *stack) close(keep int) (err error) {
	for i := len(*s) - 1; i >= keep; i-- {
		d := &(*s)[i]
		if d.dirty {
			err = errors.Join(err, setTime(d.fd, "", d.time, unix.AT_EMPTY_PATH))
		}
		unix.Close(d.fd)
	}
	*s = (*s)[:keep]
	return err
}

// readDir has the flags to read a directory. O_DIRECTORY refuses a FIFO before it could block.
const readDir = unix.O_RDONLY | unix.O_DIRECTORY

// subdir opens a directory of a directory. The error ENOTDIR is for a symbolic link, too.
func subdir(dir int, name string) (int, error) {
	fd, err := sys.OpenBeneath(dir, name, readDir|unix.O_NOFOLLOW)
	if err == unix.ELOOP {
		err = unix.ENOTDIR
	}
	return fd, err
}

// enter makes the stack end with the directory of these names, and makes the missing ones.
func (u *unpacker) enter(names []string) error {
	same, err := 0, error(nil)
	if u.stale {
		err, u.stale = u.path.close(1), false
	}
	for same < len(names) && same+1 < len(u.path) && u.path[same+1].name == names[same] {
		same++
	}
	err = errors.Join(err, u.path.close(same+1))
	for _, name := range names[same:] {
		if err == nil {
			err = u.descend(name)
		}
	}
	return err
}

// descend opens a directory of the last one on the stack. It makes a missing one, and replaces a file or link of the
// layers below by a directory.
func (u *unpacker) descend(name string) error {
	parent := u.path.top()
	depth := parent.depth + 1
	fd, err := subdir(parent.fd, name)
	if err == unix.ENOTDIR {
		if u.has(parent, name) {
			if fd, err = u.follow(name); err == nil {
				depth, err = u.depth(fd)
			}
		} else if err = u.remove(name); err == nil {
			err = unix.ENOENT
		}
	}
	if err == unix.ENOENT {
		if err = u.bounds.entry(); err != nil {
			return err
		}
		fd, err = u.mkdir(name)
	}
	if err != nil {
		return err
	}
	u.note(name)
	return u.path.push(name, fd, depth)
}

// depth returns how many levels a directory is below the root, by their paths in /proc/self/fd: proc(5).
func (u *unpacker) depth(fd int) (int, error) {
	root, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(u.path[0].fd))
	path, perr := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)) // ENAMETOOLONG over 4095 bytes
	if err = errors.Join(err, perr); err != nil {
		unix.Close(fd)
	}
	return strings.Count(path, "/") - strings.Count(root, "/"), err
}

// mkdir makes a directory and opens it.
func (u *unpacker) mkdir(name string) (int, error) {
	parent := u.path.top()
	if err := unix.Mkdirat(parent.fd, name, 0o755); err != nil {
		return -1, err
	}
	parent.dirty = true
	fd, err := subdir(parent.fd, name)
	if err != nil {
		return -1, err
	}
	if err = unix.Fchmod(fd, 0o755); err != nil { // mkdirat(2) has applied the umask
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// follow opens the directory that a symbolic link of this layer leads to, with the unpacked directory as its root.
func (u *unpacker) follow(name string) (int, error) {
	var path strings.Builder
	for _, d := range u.path[1:] {
		path.WriteString(d.name + "/")
	}
	fd, err := sys.OpenInRoot(u.path[0].fd, path.String()+name, readDir)
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV:
		return -1, errors.New("the layer has made a directory of its name a file, or a link to none")
	case nil:
		return fd, nil
	}
	return -1, fmt.Errorf("follow a link: %w", err)
}

// key identifies a name in a directory, by whichever path the directory was reached.
type key struct {
	dir  inode
	name string
}

// note remembers that this layer has a name in the last directory of the stack.
func (u *unpacker) note(name string) {
	u.written[maphash.Comparable(u.seed, key{u.path.top().inode, name})] = struct{}{}
}

// has reports whether this layer has a name in a directory.
func (u *unpacker) has(d *dir, name string) bool {
	_, ok := u.written[maphash.Comparable(u.seed, key{d.inode, name})]
	return ok
}
