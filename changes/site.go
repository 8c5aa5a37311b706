package changes

import (
	"errors"
	"strconv"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// site is the directory of a set, in which one Apply looks paths up and makes files with temporary names.
type site struct {
	dir        int
	dirs       map[string]inode // the directories that were opened, by their paths
	parent     int              // the directory of parentPath (O_PATH), or -1
	parentPath string

	token string             // of temporary names
	step  func(string) error // ApplyOptions.step
	force bool               // ApplyOptions.Force
	left  []Refused          // attributes that Force has left out, and what could not be removed
}

func newSite(dir int, o *ApplyOptions) *site {
	return &site{dir: dir, dirs: map[string]inode{}, parent: -1, step: o.step, force: o.Force}
}

// end closes the directories.
func (s *site) end() {
	s.close()
	unix.Close(s.dir)
}

// reached marks a point at which tests kill the process, or let what comes next fail.
func (s *site) reached(point string) error {
	if s.step != nil {
		return s.step(point)
	}
	return nil
}

// close closes the directory that enter has opened last.
func (s *site) close() {
	if s.parent >= 0 {
		unix.Close(s.parent)
		s.parent = -1
	}
}

// enter returns the directory of a path, by a lookup from the set's directory that follows no symbolic link, and the
// last name. The descriptor belongs to s.
func (s *site) enter(path Name) (dir int, name string, err error) {
	up, name := split(string(path))
	if s.parent >= 0 && up == s.parentPath {
		return s.parent, name, nil
	}
	s.close()
	if s.parent, err = s.open(s.dir, up, up, holdDir); err == nil {
		s.parentPath = up
	}
	return s.parent, name, err
}

// errMoved means that a file is not the one that the plan has seen.
var errMoved = errors.New("it changed while it was applied; apply it again")

// open opens a directory; path is its path in the set. It returns errMoved if the directory is not the one that was
// opened before: a user who may rename directories could otherwise make root write to another one.
func (s *site) open(dir int, name, path string, flags int) (fd int, err error) {
	if fd, err = open(dir, name, flags); err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = s.known(&st, path)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (s *site) known(st *unix.Stat_t, path string) error {
	id := inodeOf(st)
	if before, ok := s.dirs[path]; ok && before != id {
		return errMoved
	}
	s.dirs[path] = id
	return nil
}

// isKnown reports whether an Apply has made or moved a directory, so that its files may be removed.
func (s *site) isKnown(path string) bool { _, ok := s.dirs[path]; return ok }

// temp returns the temporary name of a change: of the new content, and then of the old file that it has replaced.
func (s *site) temp(f *File) string { return ".brig-" + s.token + "-" + strconv.Itoa(f.index) }

// tempPath is where a change at or below top is under the temporary name of top.
func (s *site) tempPath(top, f *File) Name {
	up, _ := split(string(top.Path))
	return Name(join(up, s.temp(top)) + string(f.Path[len(top.Path):]))
}

// unlocked adds rights of the owner to a directory.
func (s *site) unlocked(dir int, name, path string) error {
	fd, err := s.open(dir, name, path, holdDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = owned.Lend(fd, 0o700)
	return err
}
