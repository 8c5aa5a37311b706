// Package walk looks at files of the host that others may change meanwhile: at the entries of a tree through
// descriptors, at the steps of a path one by one, and at the other names of a file (link(2)). It changes nothing.
package walk

import (
	"io/fs"
	"path/filepath"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Max bounds the entries that are visited of a tree, so that a huge one does not delay the jail.
const Max = 4096

// maxDepth bounds the directories that are open at the same time.
const maxDepth = 32

// ID is a file by its identity; no file has the zero ID.
type ID struct{ Dev, Ino uint64 }

// IDOf returns the identity of a file by its stat(2): the zero ID for one that does not exist.
func IDOf(st *unix.Stat_t) ID {
	if st == nil {
		return ID{}
	}
	return ID{uint64(st.Dev), st.Ino}
}

// Entry is an entry of a tree. It is valid until Visit returns.
type Entry struct {
	*sys.Entry
	prefix string // the path of its directory in the tree
}

// Path returns the path of the entry in the tree.
func (e Entry) Path() string { return filepath.Join(e.prefix, e.Name()) }

// Visit is called for each entry of a tree. For a directory it can return fs.SkipDir.
type Visit func(e Entry) error

// Tree visits the first Max entries of a directory and of those in it, and returns how many it has seen. It passes over
// a directory that it cannot open: one that the caller may not read, or that was removed or replaced meanwhile.
func Tree(parent int, name string, visit Visit) (seen int, err error) {
	w := &walker{visit: visit}
	err = w.walk(parent, name, "", 0)
	return w.seen, err
}

type walker struct {
	visit Visit
	seen  int
	bufs  [maxDepth][]byte // by depth
}

func (w *walker) walk(parent int, name, prefix string, depth int) error {
	fd, err := sys.Retry(func() (int, error) {
		return unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	switch err {
	case nil:
	case unix.EACCES, unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil
	default:
		return err
	}
	defer unix.Close(fd)
	if depth == len(w.bufs) {
		return nil
	}
	if w.bufs[depth] == nil {
		w.bufs[depth] = make([]byte, sys.EntriesSize)
	}
	for e, err := range sys.Entries(fd, w.bufs[depth]) {
		if err != nil || w.seen >= Max {
			return nil
		}
		w.seen++
		v := Entry{e, prefix}
		err := w.visit(v)
		if err == nil && e.Kind == unix.S_IFDIR {
			err = w.walk(fd, e.Name(), v.Path(), depth+1)
		}
		if err != nil && err != fs.SkipDir {
			return err
		}
	}
	return nil
}
