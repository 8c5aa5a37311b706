package changes

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// task is a change that is to be made.
type task struct {
	file *File
	now  *State // what the directory has; nil for nothing
}

// applier makes the changes of a set.
type applier struct {
	set     *Set
	options *ApplyOptions
	layer   *contents
	token   string // of temporary names
	dir     int    // the directory of the set
	read    reader
	all     []*File          // of the set
	git     *gitSort         // what becomes of those in git directories
	files   map[string]*File // those that come, by their paths
	tasks   []task           // in the order of their paths
	done    int
	dirs    map[string]inode // the directories that were opened, by their paths

	units  []*unit
	places []*place
	notes  *notes
	buf    []byte
	left   []Refused        // attributes that Force has left out
	moved  map[string]inode // directories that a killed Apply has made, and somebody has moved

	parent     int // the directory of parentPath (O_PATH), or -1
	parentPath string
}

// inode identifies a file.
type inode struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

func inodeOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

// has reports whether st is that of the file; nil and the zero inode are of none.
func (i inode) has(st *unix.Stat_t) bool { return st != nil && i == inodeOf(st) }

// reached marks a point at which tests kill the process, or let what comes next fail.
func (a *applier) reached(point string) error {
	if a.options.step != nil {
		return a.options.step(point)
	}
	return nil
}

func (a *applier) close() {
	if a.parent >= 0 {
		unix.Close(a.parent)
		a.parent = -1
	}
}

// enter returns the directory of a path, by a lookup from the set's directory that follows no symbolic link, and the
// last name. The descriptor belongs to a.
func (a *applier) enter(path Name) (dir int, name string, err error) {
	up, name := split(string(path))
	if a.parent >= 0 && up == a.parentPath {
		return a.parent, name, nil
	}
	a.close()
	if a.parent, err = a.open(a.dir, up, up, holdDir); err == nil {
		a.parentPath = up
	}
	return a.parent, name, err
}

// errMoved means that a file is not the one that the plan has seen.
var errMoved = errors.New("it changed while it was applied; apply it again")

// open opens a directory; path is its path in the set. It returns errMoved if the directory is not the one that was
// opened before: a user who may rename directories could otherwise make root write to another one.
func (a *applier) open(dir int, name, path string, flags int) (fd int, err error) {
	if fd, err = open(dir, name, flags); err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = a.known(&st, path)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (a *applier) known(st *unix.Stat_t, path string) error {
	id := inodeOf(st)
	if before, ok := a.dirs[path]; ok && before != id {
		return errMoved
	}
	a.dirs[path] = id
	return nil
}

// plan fills tasks, or returns a *ConflictError with every change that is refused.
func (a *applier) plan(chosen []*File) error {
	var refused []Refused
	for _, f := range chosen {
		t, reason, err := a.check(f)
		if err != nil {
			return at(string(f.Path), err)
		}
		if p := a.protected(f); p != "" && t != nil {
			reason = "it is protected" + words.Clause("; "+words.Set("force", GitQuote(p))+" permits the change")
		}
		if in := a.git.sorted[a.all[f.index]]; reason != "" && in != nil && path.Base(string(f.Path)) == "index" {
			reason += " (git status alone writes it, too)"
		}
		switch {
		case reason != "":
			refused = append(refused, Refused{f.Path, reason})
		case t == nil:
			a.done++
		default:
			a.tasks = append(a.tasks, *t)
		}
	}
	if refused = append(refused, a.unseen()...); len(refused) > 0 {
		return &ConflictError{refused}
	}
	return nil
}

// check is like look, and also decides for a file whose directory the set makes or removes.
func (a *applier) check(f *File) (t *task, reason words.Text, err error) {
	t, reason, err = a.look(f)
	if !missing(err) {
		return t, reason, err
	}
	up, _ := split(string(f.Path))
	if d := a.files[up]; f.New != nil && d != nil && kindIs(d.New, Directory) {
		return &task{file: f}, "", nil
	}
	for ; f.New == nil && up != ""; up, _ = split(up) {
		if d := a.files[up]; d != nil && kindIs(d.Old, Directory) && !kindIs(d.New, Directory) {
			return nil, "", nil
		}
	}
	if err == unix.ENOENT {
		return nil, "its directory is gone", nil
	}
	return nil, "a parent of this path is no longer a directory", nil
}

// look compares a file of the directory with a change. It returns no task if the directory has the change already, and
// the reason if it must not be made. The error is ENOENT, ENOTDIR or ELOOP if the file's directory does not exist.
func (a *applier) look(f *File) (t *task, reason words.Text, err error) {
	dir, name, err := a.enter(f.Path)
	if err == unix.EXDEV {
		return nil, "something is mounted above it", nil
	}
	if err != nil {
		return nil, "", err
	}
	a.read.like = f
	now, err := a.read.state(dir, name)
	if err == unix.EXDEV {
		return nil, "something is mounted there", nil
	}
	if err != nil {
		return nil, "", err
	}
	if f.Path == itself && now != nil {
		now.XAttrs = nil // an overlay does not show them
	}
	t = &task{file: f, now: now}
	isDir, wantsDir, wasDir := kindIs(now, Directory), kindIs(f.New, Directory), kindIs(f.Old, Directory)
	if isDir {
		if err := a.known(now.stat, string(f.Path)); err != nil {
			return nil, "", err
		}
	}
	switch {
	case now.equal(f.New) || f.Old == nil && isDir && wantsDir:
		return nil, "", nil
	case isDir && wasDir && now.Inode != f.Old.Inode && !a.options.Force:
		return nil, "it is another directory since the run" + forced("takes it"), nil
	case now.equal(f.Old) && (!f.Raced || a.options.Force):
	case isDir && !wantsDir && !wasDir:
		return nil, "it is a directory now", nil
	case a.options.Force:
	case now.equal(f.Old):
		return nil, "the host changed it while the payload ran" + forced("replaces it"), nil
	case now == nil:
		return nil, "it is gone since the run" + forced("makes it again"), nil
	case f.Old == nil:
		return nil, "it exists since the run" + forced("replaces it"), nil
	default:
		return nil, "it has changed since the run" + forced("replaces it"), nil
	}
	if uid := os.Geteuid(); uid != 0 && now != nil && int(now.stat.Uid) != uid && !isDir && !a.options.Force {
		reason = words.Textf("it belongs to uid %d, and would be yours%s", now.stat.Uid, forced("makes it so"))
		return nil, reason, nil
	}
	return t, "", nil
}

// forced is the advice to use ApplyOptions.Force, and what it does.
func forced(does words.Text) words.Text {
	return words.Clause("; " + words.Field("force") + " " + does)
}

// protected returns the protected path that a change concerns, unless the caller allows it. The case of letters makes
// no difference, as on some file systems.
func (a *applier) protected(f *File) string {
	path := strings.ToLower(string(f.Path))
	hides := f.New != nil && !kindIs(f.New, Directory)
	for _, p := range a.set.Run.Protect {
		low := strings.ToLower(string(p))
		named := func(name string) bool { return strings.TrimSuffix(name, "/") == string(p) }
		if (under(path, low) || hides && under(low, path)) && !slices.ContainsFunc(a.options.Allow, named) {
			return string(p)
		}
	}
	return ""
}

// unseen refuses to remove directories in which the host has files that the set does not delete.
func (a *applier) unseen() (refused []Refused) {
	deleted := map[Name]bool{}
	for _, t := range a.tasks {
		deleted[t.file.Path] = !kindIs(t.file.New, Directory)
	}
	for _, t := range a.tasks {
		if !kindIs(t.now, Directory) || kindIs(t.file.New, Directory) {
			continue
		}
		list, err := namesIn(a.dir, string(t.file.Path))
		if err != nil {
			refused = append(refused, Refused{t.file.Path, "its files cannot be listed: " + words.Message(err)})
		}
		for _, name := range list {
			if path := Name(join(string(t.file.Path), name)); !deleted[path] {
				refused = append(refused, Refused{path, "the run has not seen it, and its directory is to be removed"})
			}
		}
	}
	return refused
}
