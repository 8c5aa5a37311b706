package host

import (
	"path"
	"slices"

	"brig/internal/repository"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// whole are the git directories that are protected as a whole.
type whole []repository.GitDir

// has reports whether a path is one of them.
func (w whole) has(full string) bool {
	return slices.ContainsFunc(w, func(g repository.GitDir) bool { return g.Path == full })
}

// part reports whether a path is in one of them, and is none itself.
func (w whole) part(full string) bool {
	if len(w) == 0 {
		return false
	}
	dir := repository.Within(full, w)
	return dir != "" && dir != full
}

// gitDirs protects the git directories as a whole: what is in one is read-only, or what the mount of another program
// shows there (spec.GitData). A bind of one, or of a part of one, would be writable.
func (p *protector) gitDirs(list []repository.GitDir) {
	if p.s.Git == spec.GitRW {
		return
	}
	p.git = list
	for _, a := range p.areas.list {
		if dir := repository.Within(a.path, list); dir != "" && !a.cow && !p.s.TakesBack(".", a.target) {
			p.fail(a.path, "is in the git directory "+words.Quote(dir)+", and the mount at "+
				words.Quote(a.target)+" shows it writable",
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
	for a, rel := range p.areas.with(full) {
		target := path.Join(a.target, rel)
		is := func(m spec.Mount) bool { return m.Target == target && m.Type == spec.MountCOW }
		if at := slices.IndexFunc(p.s.Mounts, is); !a.cow && rel != "" && at >= 0 {
			p.held[full] = target
			p.views = append(p.views, Protected{Target: target, Mount: a.mount, Path: full})
		}
	}
}

// part reports whether a path is a part of a git directory that is protected as a whole, and not that directory. Its
// other names are looked for, which may be outside of it.
func (p *protector) part(full string, st *unix.Stat_t) bool {
	if !p.git.part(full) {
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
	for a, rel := range p.areas.with(full) {
		target := path.Join(a.target, rel)
		if p.s.Git == spec.GitData && p.s.TakesBack(rel, target) {
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
	return a.cow && p.s.Git == spec.GitData && p.git.has(full)
}
