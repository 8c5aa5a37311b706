package changes

import (
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// remover removes what has a temporary name, and nothing of the host's.
type remover struct {
	*site
	all  []*File // of the set
	read reader
}

// holds reports whether a file has the content that the set has prepared for it: otherwise the host has written to it.
// Its attributes may
// have been left out.
func (r *remover) holds(f *File, dir int, name string) bool {
	r.read.like = f
	s, err := r.read.state(dir, name)
	return err == nil && kindIs(s, f.New.Kind) && s.Size == f.New.Size && s.Target == f.New.Target &&
		(s.SHA256 == f.New.SHA256 || s.SHA256 == "") // its mode may forbid to read it
}

// drop removes what has the temporary name of a unit: the changes below it by their names, and nothing else. With
// check, a file that has other bytes by now than were prepared for it stays. It reports whether something has stayed.
func (r *remover) drop(u *unit, side func(*File) *State, check bool) (stays bool, err error) {
	below := r.all[u.file.index:]
	n := 1
	for n < len(below) && under(string(below[n].Path), string(u.file.Path)) {
		n++
	}
	r.close()
	for _, f := range below[:n] {
		if path := string(r.tempPath(u.file, f)); kindIs(side(f), Directory) && r.isKnown(path) {
			dir, name, err := r.enter(Name(path))
			if err == nil {
				err = r.unlocked(dir, name, path)
			}
			if err != nil && !missing(err) && err != errMoved {
				return false, err
			}
		}
	}
	for n--; n >= 0; n-- {
		f := below[n]
		if side(f) == nil {
			continue
		}
		more, err := r.dropFile(u, f, side(f), check)
		if stays = stays || more; err != nil {
			return stays, err
		}
	}
	return stays, nil
}

// dropFile removes one file or empty directory, and reports whether something stays there.
func (r *remover) dropFile(u *unit, f *File, s *State, check bool) (stays bool, err error) {
	path := r.tempPath(u.file, f)
	if up, _ := split(string(path)); f != u.file && !r.isKnown(up) {
		return true, nil
	}
	if s.Kind == Directory && r.parentPath == string(path) {
		r.close()
	}
	dir, name, err := r.enter(path)
	if missing(err) {
		return false, nil
	}
	if err == errMoved {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	_ = r.reached("drop " + name)
	flags := 0
	if s.Kind == Directory {
		flags = unix.AT_REMOVEDIR
	} else if check && !r.holds(f, dir, name) {
		return true, nil
	}
	switch err = unix.Unlinkat(dir, name, flags); err {
	case unix.ENOENT:
		return false, nil
	case unix.ENOTEMPTY, unix.EEXIST, unix.ENOTDIR, unix.EISDIR: // something of the host's
		return true, nil
	case unix.EPERM, unix.EACCES: // an immutable file in a directory that was to be removed
		r.left = append(r.left, Refused{f.Path, "it could not be removed: " + words.Message(err)})
		return true, nil
	}
	return false, err
}

// giveBack renames a directory in which something has stayed to the name of its unit. Where another file has that, it
// is an error that names it.
func (r *remover) giveBack(u *unit) error {
	dir, name, err := r.enter(u.file.Path)
	if err != nil {
		return err
	}
	temp := r.temp(u.file)
	err = move(dir, temp, name)
	if err == unix.EEXIST {
		r.left = append(r.left, Refused{u.file.Path,
			"what the host has put there meanwhile is in " + words.Plain(GitQuote(temp))})
		return nil
	}
	if err == unix.ENOENT {
		return nil
	}
	return err
}
