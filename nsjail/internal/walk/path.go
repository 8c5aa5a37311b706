package walk

import (
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds the symbolic links of a path: path_resolution(7), ELOOP.
const maxLinks = 40

// Way is the way of a path of the host: the symbolic links on it, and where it ends.
type Way struct {
	Links []Step
	End   Step     // without a stat if nothing is there, or the way leads no further
	Rest  []string // the part of the path after the end, where that cannot be looked at
	Err   error    // why it cannot
}

// Step is a path with its lstat(2).
type Step struct {
	Full string
	Stat *unix.Stat_t
}

// Path resolves a path from a directory without symbolic links, as open(2) does.
func Path(dir, rel string) (w Way) {
	rest := strings.Split(rel, "/")
	var st *unix.Stat_t
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir, st = path.Dir(dir), nil
			continue
		}
		full := path.Join(dir, name)
		st = new(unix.Stat_t)
		switch err := unix.Lstat(full, st); {
		case err == unix.ENAMETOOLONG && len(name) > unix.NAME_MAX: // the text of a link that cannot be followed
			w.End.Full = full
			return w
		case err != nil:
			w.End.Full, w.Rest, w.Err = full, rest, err
			return w
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			w.Links = append(w.Links, Step{full, st})
			text, err := os.Readlink(full)
			if err != nil || len(w.Links) > maxLinks { // it cannot be followed
				w.End.Full = full
				return w
			}
			if path.IsAbs(text) {
				dir = "/"
			}
			rest, st = append(strings.Split(text, "/"), rest...), nil
			continue
		case st.Mode&unix.S_IFMT != unix.S_IFDIR && len(rest) > 0:
			w.End = Step{full, st} // a file where a directory was meant
			return w
		}
		dir = full
	}
	if st == nil {
		if st = new(unix.Stat_t); unix.Lstat(dir, st) != nil {
			st = nil
		}
	}
	w.End = Step{dir, st}
	return w
}
