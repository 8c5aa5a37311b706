package repository

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// isGitDir reports whether a directory is a repository of git(1). A payload can remove the files by which git
// recognizes one, but not the protected settings, so these suffice.
func (f *finder) isGitDir(dir string) bool {
	if f.exists(dir+"/HEAD") && f.exists(dir+"/objects") && f.exists(dir+"/refs") {
		return true
	}
	if !f.exists(dir + "/config") {
		return false
	}
	text, err := f.read(dir + "/config")
	return err == nil && strings.Contains(strings.ToLower(text), "repositoryformatversion")
}

// gitDir looks at a git directory: at that of its linked worktrees and submodules, and at the one that commondir names,
// from which git reads settings and hooks. Top is the top of its work tree, or "".
func (f *finder) gitDir(dir, top string) *group {
	id := identity(dir)
	g := f.dirs[id]
	if g == nil {
		if len(f.dirs) >= maxGitDirs {
			f.problem(dir, fmt.Sprintf("is one of more than %d git directories", maxGitDirs),
				"show a smaller directory")
			return &group{}
		}
		g = &gitDir{path: dir}
		f.dirs[id] = g
		f.GitDirs = append(f.GitDirs, GitDir{dir, id.dev, id.ino, f.nested})
		common := f.pointer(dir+"/commondir", "")
		f.inside(dir, common)
		if common != "" && common != "." { // "." may stand for an absent one
			if real, st := f.look(join(dir, common)); st != nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && real != dir {
				g.group = f.gitDir(real, "")
			}
		}
		if g.group == nil {
			g.group = &group{nested: f.nested, bare: dir}
			f.groups = append(f.groups, g.group)
			if path.Base(dir) == ".git" {
				f.top(g.group, path.Dir(dir))
			}
		}
		f.settingsOf(g)
		f.worktrees(dir, g.group)
		f.modules(dir + "/modules")
	}
	if top != "" && g.group != nil {
		f.top(g.group, top)
		f.submodules(dir, top)
	}
	return g.group
}

// top adds the top of a work tree to a repository.
func (f *finder) top(g *group, dir string) {
	if real, st := f.look(dir); st != nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && !slices.Contains(g.trees, real) {
		g.trees = append(g.trees, real)
	}
}

// settingsOf reads the settings of a git directory.
func (f *finder) settingsOf(g *gitDir) {
	for _, name := range []string{"config", "config.worktree"} {
		for _, s := range f.settings(g.path, name, 0) {
			g.group.settings = append(g.group.settings, s)
			if s.key == "core.worktree" && s.value != "" {
				top := join(g.path, s.value)
				if f.exists(top + "/.git") {
					f.add(Path{Dir: g.path, Rel: s.value + "/.git", File: true})
				}
				f.top(g.group, top)
			}
		}
	}
}

// worktrees looks at the linked worktrees of a repository. The file gitdir of each has the path of the file .git at the
// top of the worktree.
func (f *finder) worktrees(dir string, g *group) {
	list, all := f.names(dir + "/worktrees")
	if !all { // those in Query.Dirs are found by the search as well
		f.note(dir+"/worktrees", tooMany, words.Plain("remove what is stale: git -C "+words.Shell(dir)+" worktree "+
			"prune"), true)
	}
	for _, name := range list {
		tree := dir + "/worktrees/" + name
		text := f.pointer(tree+"/gitdir", "")
		if text == "" && !f.exists(tree+"/commondir") { // no worktree, and git passes over it
			continue
		}
		for _, file := range []string{"commondir", "gitdir", "config.worktree"} {
			f.add(Path{Dir: dir, Rel: "worktrees/" + name + "/" + file, Inside: true})
		}
		g.settings = append(g.settings, f.settings(tree, "config.worktree", 0)...)
		if link := join(tree, text); text != "" && f.exists(link) {
			f.add(Path{Dir: tree, Rel: text, File: true})
			f.top(g, path.Dir(link))
		}
		f.modules(tree + "/modules")
	}
}

// modules looks at the git directories of submodules: the name of one may have slashes.
func (f *finder) modules(dir string) {
	dir, st := f.look(dir)
	if st == nil {
		return
	}
	for list, seen := []string{dir}, 0; len(list) > 0; list = list[1:] {
		names, all := f.names(list[0])
		if !all {
			f.problem(list[0], tooMany, "remove what is no submodule")
		}
		for _, name := range names {
			sub := path.Join(list[0], name)
			if seen++; seen > MaxEntries {
				f.problem(dir, tooMany, "remove what is no submodule")
				return
			}
			full, st := f.look(sub)
			switch {
			case st == nil || st.Mode&unix.S_IFMT != unix.S_IFDIR:
			case f.isGitDir(full):
				f.gitDir(full, "")
			case full == sub: // a link leads to a git directory or to nothing of git's
				list = append(list, sub)
			}
		}
	}
}

// inside adds what makes git run programs or read other settings, by its name in a git directory. A missing commondir
// means ".".
func (f *finder) inside(dir, common string) {
	for _, name := range []string{"hooks", "config", "config.worktree"} {
		f.add(Path{Dir: dir, Rel: name, Inside: true})
	}
	text := ""
	if common == "" || common == "." {
		text = ".\n"
	}
	f.add(Path{Dir: dir, Rel: "commondir", Text: text, Inside: true})
}
