package repository

import (
	"fmt"
	"os"
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
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return // a file, or the payload cannot look there either
	}
	root := os.NewFile(uintptr(fd), dir)
	defer root.Close()
	seen, late := 0, []string(nil)
	for list := []string{"."}; len(list) > 0 || len(late) > 0; {
		if len(list) == 0 {
			list, late = late, nil
		}
		rel := list[0]
		list = list[1:]
		entries := f.list(root, rel)
		full := path.Join(dir, rel)
		if rel != "." && f.found(full, entries) {
			continue
		}
		for _, e := range entries {
			switch {
			case !e.IsDir() || e.Name() == ".git":
			case deep(e.Name()):
				late = append(late, path.Join(rel, e.Name()))
			default:
				list = append(list, path.Join(rel, e.Name()))
			}
		}
		if seen += len(entries); seen > MaxEntries {
			f.edge(root, dir, list, late)
			f.problem(dir, fmt.Sprintf("was searched for git directories among its nearest %d entries: one further "+
				"down is not known", MaxEntries),
				"name its hooks with "+words.Field("protect")+", as in "+words.Add("protect", "deep/down/.git/hooks"))
			return
		}
	}
}

// edge opens the repositories that are at directories which the search has seen and not looked into: a payload that
// makes many files must not hide one from the next run.
func (f *finder) edge(root *os.File, dir string, lists ...[]string) {
	var st unix.Stat_t
	there := func(name string) bool {
		return unix.Fstatat(int(root.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
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

// list returns the entries of a directory, which is "." or below it, at most maxListed.
func (f *finder) list(root *os.File, rel string) []os.DirEntry {
	d := root
	if rel != "." {
		fd, err := sys.Openat2(int(root.Fd()), rel, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if err != nil {
			return nil // the payload cannot look there either, or it is gone
		}
		d = os.NewFile(uintptr(fd), rel)
		defer d.Close()
	}
	entries, _ := d.ReadDir(maxListed)
	return entries
}

// found opens the repository at a directory, and reports whether the directory is one without a work tree.
func (f *finder) found(full string, entries []os.DirEntry) bool {
	has := 0
	for _, e := range entries {
		switch e.Name() {
		case ".git":
			f.open(full, ".git", full)
		case "HEAD", "objects", "refs", "config", "hooks":
			has++
		}
	}
	if has < 2 || !f.isOpen(full) && !f.isGitDir(full) {
		return false
	}
	f.gitDir(full, "")
	return true
}
