package image

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/layer"
)

// visit is called for a name in an open directory.
type visit func(parent int, name string, st *unix.Stat_t) error

// walkDir visits all below a directory, what is in a directory before it. It follows no link: each directory is opened
// from its parent's descriptor.
func walkDir(path string, f visit) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return sys.Control(dir, func(fd int) error { return walk(fd, f) })
}

func walk(dir int, f visit) error {
	names, err := owned.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "stat", Path: name, Err: err}
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			if err := inside(dir, name, unix.O_DIRECTORY, func(sub int) error { return walk(sub, f) }); err != nil {
				return err
			}
		}
		if err := f(dir, name, &st); err != nil {
			return err
		}
	}
	return nil
}

// inside calls f with a file or directory of a directory, opened for reading without following a link: openat(2).
func inside(dir int, name string, flags int, f func(fd int) error) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	return f(fd)
}

// share makes each regular file of a tree the same inode as an equal file of the other trees, and counts all entries
// and the bytes. Files are equal if they have the same content, mode and time of modification. A file with extended
// attributes is not shared.
func (w *Writer) share(tree string, work *os.File) (files, size int64, err error) {
	pool, err := os.Open(w.s.path("files"))
	if err != nil {
		return 0, 0, err
	}
	defer pool.Close()
	p := &sharer{pool: int(pool.Fd()), work: int(work.Fd()), buf: make([]byte, 256<<10)}
	err = walkDir(tree, func(parent int, name string, st *unix.Stat_t) error {
		files++
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			return nil
		}
		if size += st.Size; st.Size == 0 {
			return nil
		}
		return inside(parent, name, 0, func(fd int) error { return p.file(fd, parent, name, st) })
	})
	return files, size, err
}

// sharer has the directory of shared files, and one for a name that is there for a moment.
type sharer struct {
	pool, work int
	buf        []byte
}

// file shares one file.
func (p *sharer) file(fd, parent int, name string, st *unix.Stat_t) error {
	if kept, err := layer.Xattrs(fd); err != nil || len(kept) > 0 {
		return err
	}
	sum := sha256.New()
	for {
		n, err := sys.Read(fd, p.buf)
		if err != nil {
			return os.NewSyscallError("read", err)
		}
		if n == 0 {
			break
		}
		sum.Write(p.buf[:n])
	}
	hex := fmt.Sprintf("%x", sum.Sum(nil))
	key := fmt.Sprintf("%s/%s-%o-%d.%09d", hex[:2], hex, st.Mode&0o7777, st.Mtim.Sec, st.Mtim.Nsec)
	err := unix.Linkat(parent, name, p.pool, key, 0)
	if err == unix.ENOENT {
		if err = unix.Mkdirat(p.pool, hex[:2], 0o755); err == nil || err == unix.EEXIST {
			err = unix.Linkat(parent, name, p.pool, key, 0)
		}
	}
	if err == unix.EEXIST {
		err = p.replace(parent, name, key, st)
	}
	if err == unix.EMLINK || err == unix.EPERM { // too many names for one file, or a file system without hard links
		return nil
	}
	return os.NewSyscallError("linkat", err)
}

// replace makes a name one of a shared file. rename(2) leaves both names alone if they are of one file already.
func (p *sharer) replace(parent int, name, key string, st *unix.Stat_t) error {
	var have unix.Stat_t
	if err := unix.Fstatat(p.pool, key, &have, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if have.Ino == st.Ino || have.Size != st.Size || have.Mode != st.Mode {
		return nil
	}
	if err := unix.Linkat(p.pool, key, p.work, "link", 0); err != nil {
		return err
	}
	return unix.Renameat(p.work, "link", parent, name)
}
