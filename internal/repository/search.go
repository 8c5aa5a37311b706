package repository

import (
	"fmt"
	"path"
	"slices"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// deep reports whether directories of a name hold many files and seldom repositories. The search looks into them last.
func deep(name string) bool {
	switch name {
	case "node_modules", ".venv", "venv", "target", "__pycache__", ".cache", "site-packages", "build", "dist", ".tox":
		return true
	}
	return false
}

// maxListed bounds the entries of one directory that are read.
const maxListed = 1 << 16

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
	seen, late, buf := 0, []string(nil), make([]byte, sys.EntriesSize)
	for next := []string{"."}; len(next) > 0 || len(late) > 0; {
		if len(next) == 0 {
			next, late = late, nil
		}
		rel := next[0]
		next = next[1:]
		l := list(root, rel, buf)
		if rel != "." && f.found(path.Join(dir, rel), l) {
			continue
		}
		for _, name := range l.dirs {
			if deep(name) {
				late = append(late, path.Join(rel, name))
			} else {
				next = append(next, path.Join(rel, name))
			}
		}
		if seen += l.entries; seen > MaxEntries {
			f.edge(root, dir, next, late)
			f.problem(dir, fmt.Sprintf("was searched for git directories among its nearest %d entries: one further "+
				"down is not known", MaxEntries),
				"name its hooks with "+words.Field("protect")+", as in "+words.Add("protect", "deep/down/.git/hooks"))
			return
		}
	}
}

// edge opens the repositories that are at directories which the search has seen and not looked into: a payload that
// makes many files must not hide one from the next run.
func (f *finder) edge(root int, dir string, lists ...[]string) {
	var st unix.Stat_t
	there := func(name string) bool {
		return unix.Fstatat(root, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	for _, rel := range slices.Concat(lists...) {
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
	if l.git {
		f.open(full, ".git", full)
	}
	if l.marks < 2 || !f.isOpen(full) && !f.isGitDir(full) {
		return false
	}
	f.gitDir(full, "")
	return true
}
