package host

import (
	"os"
	"path"
	"slices"

	"brig/internal/repository"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// repositories protects what spec.ProtectGit stands for in the areas, where they are in git repositories or hold some.
func (p *protector) repositories() {
	var dirs []string
	for _, a := range p.areas.list {
		if !a.internal {
			dirs = append(dirs, a.path)
		}
	}
	found := p.s.Repositories
	if found == nil {
		found = repository.Find(repository.Query{Dirs: dirs, Env: os.Getenv, UID: p.h.UID})
	}
	for _, x := range found.Problems {
		if x.Note {
			p.h.Partial = append(p.h.Partial, words.Textf("git: %s %s; %s", words.Quote(x.Path), x.Why, x.Remedy))
		} else {
			p.fail(x.Path, x.Why, x.Remedy)
		}
	}
	p.gitDirs(found.GitDirs)
	for _, x := range found.Paths {
		if !x.Inside || p.s.Git != spec.GitRW {
			p.gitPath(x)
		}
	}
	for _, tree := range found.Trees {
		if p.areas.show(tree) {
			p.tools(tree, slices.Contains(dirs, tree))
		}
	}
	p.git = nil
}

// gitPath protects a path that git reads or executes.
func (p *protector) gitPath(x repository.Path) {
	if x.Present && !p.exists(path.Join(x.Dir, x.Rel)) {
		return
	}
	full, st := path.Join(x.Dir, x.Rel), new(unix.Stat_t)
	if x.Text != "" {
		if unix.Lstat(full, st) != nil {
			st = nil
		}
		p.protect(full, st, x.Text)
		return
	}
	if full, st = p.follow(x.Dir, x.Rel); st != nil && !(x.File && st.Mode&unix.S_IFMT == unix.S_IFDIR) {
		p.protect(full, st, "")
	}
}

func (p *protector) exists(name string) bool {
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	p.denied(name, err)
	return err == nil
}

// denied fails if the caller lacks the permission to look at a file that the payload, which has the same uid, could
// grant itself: an earlier payload may have removed that permission (chmod(2)).
func (p *protector) denied(name string, err error) {
	var st unix.Stat_t
	for at := name; err == unix.EACCES; at = path.Dir(at) {
		if err = unix.Lstat(at, &st); err == nil && int(st.Uid) == p.h.UID && p.areas.show(at) {
			p.fail(name, "cannot be looked at: permission denied", words.Plain("chmod u+rwx "+words.Shell(at)))
		}
	}
}
