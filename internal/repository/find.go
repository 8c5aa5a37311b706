// Package repository finds the git directories that directories of the host hold or belong to, and what git(1) of the
// host would execute from their work trees: hooks, included settings and the programs that settings name. It resolves
// paths as git does, changes nothing, and knows nothing of jails.
//
// What it cannot decide it takes as given: the condition of each includeIf holds, and each path that settings name
// relative to a work tree is looked up in every work tree of the repository.
package repository

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Query is what Find is asked for.
type Query struct {
	// Dirs are the directories, absolute and without symbolic links.
	Dirs []string
	// Env looks up the environment of the caller's git: HOME, XDG_CONFIG_HOME and GIT_*.
	Env func(string) string
	// UID is the user of the host as whom others may have changed permissions in Dirs.
	UID int
}

// Found is what Find returns.
type Found struct {
	GitDirs []GitDir
	// Trees are Query.Dirs that are in a work tree, and the tops of all work trees that are known.
	Trees    []string
	Paths    []Path
	Problems []Problem
	// Unsearched are those of Problems by which the search below Query.Dirs may have missed a repository.
	Unsearched []Problem
}

// GitDir is a git directory, by its path without symbolic links.
type GitDir struct {
	Path     string
	Dev, Ino uint64
	// Nested is whether it was found by the search below one of Query.Dirs, and not on git's way from there.
	Nested bool
}

// Path is a path from a directory without symbolic links, resolved as open(2) does. Each symbolic link on the way is
// part of it, and so is the first name that does not exist.
type Path struct {
	Dir, Rel string
	Text     string // what a file has to contain that takes the place of an absent one; "" for any
	File     bool   // a directory at its end is not meant
	Present  bool   // meant only if it exists
	Inside   bool   // by its name a part of a git directory
}

// Problem is something that could not be looked at, or a bound that was met.
type Problem struct {
	Path, Why string
	Remedy    words.Text
	// Note is whether the caller can go on and say so: it concerns what the search below a directory has found or would
	// have found. Otherwise something that git executes may be missing in Paths.
	Note bool
}

// The bounds of one Find. What meets one is a Problem.
const (
	MaxEntries  = 4096 // directories that the search below Query.Dirs enters; that one of worktrees or modules has
	MaxSettings = 4 << 20
	maxIncludes = 10 // as git(1): deep
	maxGitDirs  = 1024
)

type fileID struct{ dev, ino uint64 }

// finder is the state of one Find.
type finder struct {
	reading
	Found
	groups []*group
	dirs   map[fileID]*gitDir
	texts  map[string][]setting // of the files of settings, by name
	paths  map[Path]bool
	above  map[string]place
	tops   map[string]bool // whose submodules are known
}

// group is a repository: a git directory with those of its linked worktrees.
type group struct {
	settings []setting
	trees    []string // tops of its work trees
	bare     string   // the git directory, if no work tree is known
	nested   bool
}

type gitDir struct {
	path  string
	group *group
}

// place is what upwards has found on the way from a directory to /.
type place struct{ tree, gitDir bool }

// Find looks at the repositories that the directories are in, at those that git's own files lead to from there, and at
// those below.
func Find(q Query) *Found {
	f := &finder{reading: reading{Query: q}, dirs: map[fileID]*gitDir{}, texts: map[string][]setting{},
		paths: map[Path]bool{}, above: map[string]place{}, tops: map[string]bool{}}
	for _, dir := range q.Dirs {
		f.upwards(dir)
	}
	if text := q.Env("GIT_DIR"); path.IsAbs(text) {
		f.open(path.Dir(text), path.Base(text), q.Env("GIT_WORK_TREE"))
	}
	f.nested = true
	for _, dir := range q.Dirs {
		f.search(dir)
	}
	f.nested = false
	if len(f.groups) > 0 {
		f.programs()
	}
	for _, g := range f.groups {
		for _, top := range g.trees {
			f.tree(top)
		}
	}
	f.Problems = f.problems
	return &f.Found
}

// upwards opens each repository that a directory is in: its own, those around it, and the git directory that it is or
// is part of.
func (f *finder) upwards(dir string) {
	if p := f.around(dir); !p.tree || p.gitDir {
		return
	}
	f.tree(dir)
	var st unix.Stat_t
	if unix.Lstat(path.Join(dir, ".git"), &st) == unix.ENOENT { // no repository can be made in the middle of one
		f.add(Path{Dir: dir, Rel: ".git"})
	}
}

// around opens the repositories at a directory and above it.
func (f *finder) around(dir string) place {
	p, known := f.above[dir]
	if known {
		return p
	}
	switch {
	case f.exists(path.Join(dir, ".git")):
		f.open(dir, ".git", dir)
		p.tree = true
	case f.isGitDir(dir):
		f.gitDir(dir, "")
		p.gitDir = true
	}
	if dir != "/" {
		up := f.around(path.Dir(dir))
		p = place{p.tree || up.tree, p.gitDir || up.gitDir}
	}
	f.above[dir] = p
	return p
}

func (f *finder) tree(dir string) {
	if !slices.Contains(f.Trees, dir) {
		f.Trees = append(f.Trees, dir)
	}
}

// open opens what a path leads to: a git directory, or a file that names one, "gitdir: PATH".
func (f *finder) open(dir, rel, top string) {
	f.add(Path{Dir: dir, Rel: rel, File: true})
	full, st := f.look(join(dir, rel))
	switch {
	case st == nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		f.gitDir(full, top)
	default:
		if text := f.pointer(full, "gitdir: "); text != "" { // git takes it from the directory of the link's target
			f.add(Path{Dir: path.Dir(full), Rel: text, File: true})
			if real, st := f.look(join(path.Dir(full), text)); st != nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
				f.gitDir(real, top)
			}
		}
	}
}

// add notes a path.
func (f *finder) add(p Path) {
	if path.IsAbs(p.Rel) {
		p.Dir, p.Rel = "/", strings.TrimLeft(p.Rel, "/")
	}
	if !f.paths[p] && len(p.Rel) < unix.PathMax && !strings.ContainsRune(p.Rel, 0) {
		f.paths[p] = true
		f.Paths = append(f.Paths, p)
	}
}

// join puts a path behind a directory, without removing "..": what it means depends on symbolic links.
func join(dir, rel string) string {
	if path.IsAbs(rel) || rel == "" {
		return cmp.Or(rel, dir)
	}
	return strings.TrimSuffix(dir, "/") + "/" + rel
}

func identity(name string) fileID {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino}
}
