package ghost

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// entry is a ghost in a note. Ino is 0 until the ghost is made.
type entry struct {
	Dir  string `json:"dir"`
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
	Dev  uint64 `json:"dev"` // of the directory and of the ghost
	At   uint64 `json:"at"`  // the directory's inode number
	Ino  uint64 `json:"ino"`
	Born int64  `json:"born,omitempty"` // when the ghost was made, in ns; 0 where the file system does not keep it
}

// plausible reports whether brig can have written an entry. Others are ignored, since they could make brig remove other
// files.
func (e *entry) plausible() bool {
	return filepath.IsAbs(e.Dir) && e.Name == filepath.Base(e.Name) && e.Name != "." && e.Name != ".." && e.Name != "/" &&
		len(e.Text) <= maxText
}

// maxText bounds the text of a ghost, in bytes.
const maxText = 16

// born returns when a file was made, in ns, or 0.
func born(dir int, name string) int64 {
	_, born, _ := birth(dir, name)
	return born
}

// birth looks at a file, and returns when it was made, too: stx_btime of statx(2), in ns, or 0.
func birth(dir int, name string) (st unix.Statx_t, born int64, err error) {
	err = unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == nil && st.Mask&unix.STATX_BTIME != 0 {
		born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st, born, err
}

// key identifies a ghost independently of the path by which a run has reached its directory, and of its text.
type key struct {
	dev, at, ino uint64
	name         string
}

func (e *entry) key() key { return key{e.Dev, e.At, e.Ino, e.Name} }

// dirs are the open directories of ghosts.
type dirs map[string]openDir

type openDir struct {
	fd int
	entry
}

func (d dirs) close() {
	for _, o := range d {
		unix.Close(o.fd)
	}
}

// add adds a ghost that is to be made, or that a living run has made.
func (s *Set) add(p Place, open dirs, live map[key]entry) (err error) {
	o, err := open.get(p.Dir, p.Root, &unix.OpenHow{Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}, p.Below)
	if err != nil {
		return failure(&entry{Dir: p.Dir, Name: p.Name}, err)
	}
	e := o.entry
	e.Name, e.Text = p.Name, p.Text
	var st unix.Stat_t
	switch err = unix.Fstatat(o.fd, p.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err {
	case unix.ENOENT:
		if !slices.ContainsFunc(s.entries, func(o entry) bool { return o.key() == e.key() }) { // by another path
			s.entries = append(s.entries, e)
		}
	case nil:
		e.Ino, e.Born = st.Ino, born(o.fd, p.Name)
		if other, ok := live[e.key()]; ok {
			e.Text = other.Text // without which the last run would not remove it
			s.entries = append(s.entries, e)
		}
	default:
		return failure(&e, err)
	}
	return nil
}

func failure(e *entry, err error) error {
	return spec.HostError("protect", fmt.Sprintf("nothing can be put at the absent %s: %s",
		words.Quote(filepath.Join(e.Dir, e.Name)), err), "show a copy of the tree, or use "+spec.Unprotected(e.Name))
}

// get opens the directory of a ghost and returns it with its identity.
func (d dirs) get(dir string, root int, how *unix.OpenHow, name string) (o openDir, err error) {
	o, ok := d[dir]
	if ok {
		return o, nil
	}
	how.Flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if o.fd, err = sys.Openat2(root, name, how); err != nil {
		return o, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(o.fd, &st); err != nil {
		unix.Close(o.fd)
		return o, err
	}
	o.entry = entry{Dir: dir, Dev: uint64(st.Dev), At: st.Ino}
	d[dir] = o
	return o, nil
}

// make makes the ghost, and learns its inode number. On a file system without sockets (vfat) it is an empty directory.
// A file appears with its text: O_TMPFILE, linkat(2). The socket must be writable, because another run calls connect(2)
// to see that no process has bound it.
//
// The socket may be a further name of another ghost in the directory. Whoever has put another file there meanwhile gets
// ESTALE, and the file stays.
func (e *entry) make(dir int, same *entry) (err error) {
	if e.Text != "" {
		err = e.makeFile(dir)
	} else if same != nil && unix.Linkat(dir, same.Name, dir, e.Name, 0) == nil {
		e.Ino, e.Born = same.Ino, same.Born
		if st, born, err := birth(dir, e.Name); err != nil || st.Ino != e.Ino || born != e.Born {
			return cmp.Or(err, error(unix.ESTALE))
		}
		return nil
	} else if err = unix.Mknodat(dir, e.Name, unix.S_IFSOCK|0o666, 0); err == unix.EPERM || err == unix.EOPNOTSUPP {
		err = unix.Mkdirat(dir, e.Name, 0o555)
	}
	var st unix.Statx_t
	if err == nil {
		st, e.Born, err = birth(dir, e.Name)
	}
	e.Ino = st.Ino
	return err
}

func (e *entry) makeFile(dir int) error {
	fd, err := unix.Openat(dir, ".", unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, 0o444)
	named := err == nil
	if err == unix.EOPNOTSUPP || err == unix.EISDIR { // NFS: git(1) may see it empty for a moment
		fd, err = unix.Openat(dir, e.Name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o444)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err = unix.Write(fd, []byte(e.Text)); err == nil && named {
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), dir, e.Name, unix.AT_SYMLINK_FOLLOW)
	}
	return err
}

// remove removes the ghost if it is still what brig made: the same inode, made at the same time, of the mode that make
// sets, and empty. It removes nothing else: other programs' sockets can be executed, their directories written to.
func (e *entry) remove(open dirs, uid int) error {
	now, err := open.get(e.Dir, unix.AT_FDCWD, &unix.OpenHow{}, e.Dir)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return nil // its directory is gone
		}
		return e.left(err)
	}
	dir := now.fd
	if now.Dev != e.Dev || now.At != e.At {
		return nil
	}
	st, born, err := birth(dir, e.Name)
	if err == unix.EACCES {
		return e.left(err)
	} else if err != nil || e.Ino != 0 && st.Ino != e.Ino || int(st.Uid) != uid || e.Born != 0 && e.Born != born {
		return nil
	}
	flags, bits := 0, uint32(0o222)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFSOCK:
		bits = 0o111
	case unix.S_IFDIR:
		flags = unix.AT_REMOVEDIR // ENOTEMPTY if the host has put something there
	case unix.S_IFREG:
		if e.Text == "" || !e.holdsText(dir) {
			return nil
		}
	default:
		return nil
	}
	if uint32(st.Mode)&bits != 0 {
		return nil
	}
	if err := unix.Unlinkat(dir, e.Name, flags); err != nil && err != unix.ENOENT && err != unix.ENOTEMPTY {
		return e.left(err)
	}
	return nil
}

func (e *entry) left(err error) error {
	return &os.PathError{Op: "remove", Path: filepath.Join(e.Dir, e.Name), Err: err}
}

func (e *entry) holdsText(dir int) bool {
	fd, err := unix.Openat(dir, e.Name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	buf := make([]byte, len(e.Text)+1)
	n, err := unix.Read(fd, buf)
	return err == nil && string(buf[:n]) == e.Text
}
