package walk

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Links are regular files with more than one name (link(2)), and a name of each.
type Links map[ID]string

// Add adds a file, if it has more than one name.
func (l Links) Add(st *unix.Stat_t, name string) {
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
		l[IDOf(st)] = name
	}
}

// Visit adds an entry of the tree at a directory.
func (l Links) Visit(e Entry, dir string) {
	if id, names := identify(e); names > 1 {
		l[id] = filepath.Join(dir, e.Path())
	}
}

// Same returns the name of the file that an entry of another tree is, too.
func (l Links) Same(e Entry) (name string, ok bool) {
	id, _ := identify(e)
	name, ok = l[id]
	return name, ok
}

// identify looks at a regular file of a directory; anything else has no links.
func identify(e Entry) (id ID, names uint64) {
	var st unix.Stat_t
	if e.Kind != unix.S_IFREG || unix.Fstatat(e.Dir, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return ID{}, 0
	}
	return IDOf(&st), uint64(st.Nlink)
}
