package host

import (
	"path"
	"slices"

	"brig/internal/repository"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// gitDirs protects the git directories as a whole: what is in one is read-only, or what the mount of another program
// shows there (spec.GitData). A bind of one, or of a part of one, would be writable.
func (p *protector) gitDirs(list []repository.GitDir) {
	if p.s.Git == spec.GitRW {
		return
	}
	p.git = list
	for i := range p.areas {
		a := &p.areas[i]
		if dir := repository.Within(a.path, list); dir != "" && !a.cow && !p.s.TakesBack(".", p.s.Mounts[a.mount].Target) {
			p.fail(a.path, "is in the git directory "+words.Quote(dir)+", and the mount at "+
				words.Quote(p.s.Mounts[a.mount].Target)+" shows it writable",
				"show it read-only, or use "+words.Set("git", spec.GitRW))
		}
	}
	for _, g := range repository.Outer(list) {
		st := new(unix.Stat_t)
		if unix.Lstat(g.Path, st) == nil {
			p.protect(g.Path, st, "")
			p.view(g.Path)
		}
	}
}

// view notes that the mount of another program covers a git directory of a bind: its other names are refused as those
// of a protected path.
func (p *protector) view(full string) {
	for i := range p.areas {
		a := &p.areas[i]
		rel, ok := p.below(full, a)
		target := path.Join(p.s.Mounts[a.mount].Target, rel)
		is := func(m spec.Mount) bool { return m.Target == target && m.Type == spec.MountCOW }
		if at := slices.IndexFunc(p.s.Mounts, is); ok && !a.cow && rel != "" && at >= 0 {
			p.held[full] = target
			p.views = append(p.views, Protected{Target: target, Mount: a.mount, Path: full})
		}
	}
}

// part reports whether a path is a part of a git directory that is protected as a whole, and not that directory. Its
// other names are looked for, which may be outside of it.
func (p *protector) part(full string, st *unix.Stat_t) bool {
	if len(p.git) == 0 {
		return false
	}
	dir := repository.Within(full, p.git)
	if dir == "" || dir == full {
		return false
	}
	if !p.takenBack(full) && st != nil && !p.walked[full] {
		p.walked[full] = true
		p.inside(full, st)
	}
	return true
}

// takenBack notes a part of a git directory that the caller has taken back, if another program minds that.
func (p *protector) takenBack(full string) bool {
	for i := range p.areas {
		a := &p.areas[i]
		rel, ok := p.below(full, a)
		target := path.Join(p.s.Mounts[a.mount].Target, rel)
		if ok && p.s.Git == spec.GitData && p.s.TakesBack(rel, target) {
			if !slices.Contains(p.h.Unprotected, target) {
				p.h.Unprotected = append(p.h.Unprotected, target)
			}
			return true
		}
	}
	return false
}

// free reports whether the payload may change its copy of a git directory.
func (p *protector) free(full string, a *area) bool {
	return a.cow && p.s.Git == spec.GitData && p.isGit(full)
}

func (p *protector) isGit(full string) bool {
	return slices.ContainsFunc(p.git, func(g repository.GitDir) bool { return g.Path == full })
}
