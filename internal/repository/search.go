package repository

import (
	"fmt"
	"path"
	"slices"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// The bounds of one search. Files count for little: a payload makes many in no time, and their names are read at once.
const (
	maxListed = 1 << 16 // names of one directory
	maxNames  = 1 << 19 // names of all
)

// search opens the repositories below a directory, the nearest first, with and without a work tree. It looks into no
// git directory and follows no link.
func (f *finder) search(dir string) {
	if len(f.dirs) > 0 && f.isOpen(dir) {
		return
	}
	root, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return // a file, or the payload cannot look there either
	}
	defer unix.Close(root)
	var q frontier
	q.add(".", 0)
	buf := make([]byte, sys.EntriesSize)
	for entered, names := 0, 0; ; entered++ {
		rel, level, more := q.next()
		if !more {
			return
		}
		if entered == MaxEntries || names > maxNames {
			f.edge(root, dir, rel, &q)
			f.unknown(dir, fmt.Sprintf("was searched for git directories in its nearest %d directories: one further "+
				"down is not known", entered))
			return
		}
		l := list(root, rel, buf)
		full := path.Join(dir, rel)
		if l.entries == maxListed {
			f.unknown(full, fmt.Sprintf("has %d names or more: a git directory behind these is not known", maxListed))
		}
		if rel != "." && f.found(full, l) {
			continue
		}
		names += l.entries
		for _, name := range l.dirs {
			q.add(path.Join(rel, name), below(level, name, len(l.dirs)))
		}
	}
}

// unknown notes that the search has met a bound.
func (f *finder) unknown(dir, why string) {
	remedy := "name its hooks with " + words.Field("protect") + ", as in " + words.Add("protect", "deep/down/.git/hooks")
	f.problem(dir, why, remedy)
	if p := (Problem{dir, why, remedy, f.nested}); !slices.Contains(f.Unsearched, p) {
		f.Unsearched = append(f.Unsearched, p)
	}
}

// edge opens the repositories that are at directories which the search has seen and not looked into: a payload that
// makes many directories must not hide one from the next run.
func (f *finder) edge(root int, dir, rel string, q *frontier) {
	var st unix.Stat_t
	there := func(name string) bool {
		return unix.Fstatat(root, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	for more := true; more; rel, _, more = q.next() {
		switch full := path.Join(dir, rel); {
		case there(rel + "/.git"):
			f.open(full, ".git", full)
		case there(rel+"/HEAD") && f.isGitDir(full):
			f.gitDir(full, "")
		}
	}
}

func (f *finder) isOpen(dir string) bool { return f.dirs[identity(dir)] != nil }

// listed is what the search has to know of a directory.
type listed struct {
	entries int // at most maxListed
	dirs    []string
	git     bool // it has ".git"
	marks   int  // how many names it has by which a git directory is known
}

// list lists a directory, which is "." or below it.
func list(root int, rel string, buf []byte) (l listed) {
	fd := root
	if rel != "." {
		var err error
		fd, err = sys.Openat2(root, rel, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return l // the payload cannot look there either, or it is gone
		}
		defer unix.Close(fd)
	}
	for e, err := range sys.Entries(fd, buf) {
		if err != nil || l.entries == maxListed {
			break
		}
		l.entries++
		switch {
		case e.Is(".git"):
			l.git = true
			continue
		case e.Is("HEAD"), e.Is("objects"), e.Is("refs"), e.Is("config"), e.Is("hooks"):
			l.marks++
		}
		if e.Kind == unix.S_IFDIR {
			l.dirs = append(l.dirs, e.Name())
		}
	}
	return l
}

// found opens the repository at a directory, and reports whether the directory is one without a work tree.
func (f *finder) found(full string, l listed) bool {
	if l.entries == maxListed { // the names that matter may be behind these
		l.git, l.marks = f.exists(full+"/.git"), 2
	}
	if l.git {
		f.open(full, ".git", full)
	}
	if l.marks < 2 || !f.isOpen(full) && !f.isGitDir(full) {
		return false
	}
	f.gitDir(full, "")
	return true
}
