package repository

import (
	"path"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Within returns the innermost of the git directories that a path is, or is a part of, or "". A work tree in a git
// directory, and what is in it, is no part of that.
func Within(name string, list []GitDir) (dir string) {
	for _, g := range list {
		if sys.Under(name, g.Path) && len(g.Path) > len(dir) {
			dir = g.Path
		}
	}
	var st unix.Stat_t
	for at := name; dir != "" && at != dir; at = path.Dir(at) {
		if unix.Lstat(at+"/.git", &st) == nil {
			return ""
		}
	}
	return dir
}

// Outer returns those of the git directories that are part of no other: of a repository's own, those of its worktrees
// and submodules are parts.
func Outer(list []GitDir) (outer []GitDir) {
	for _, g := range list {
		if Within(path.Dir(g.Path), list) == "" {
			outer = append(outer, g)
		}
	}
	return outer
}
