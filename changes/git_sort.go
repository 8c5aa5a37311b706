package changes

import (
	"strings"

	"brig/internal/gitdata"
)

// root decides about a git directory itself, or about what leads to one: a file or link with the name .git. A git
// directory is removed with its work tree alone: git would look for another one in its place.
func (g *gitSort) root(f *File, in *inGit) {
	up, name := split(string(f.Path))
	tree := g.byPath[up]
	switch {
	case f.Path == itself, kindIs(f.New, Directory) && kindIs(f.Old, Directory): // a mode
	case f.New == nil && (tree != nil && !kindIs(tree.New, Directory) || !strings.EqualFold(name, ".git")):
		in.file = f
	case f.New == nil:
		in.name = "(removed)"
	case f.New.Kind == Directory && f.Old == nil:
		in.kind, in.file = gitdata.Ref, g.plain(f, gitdata.Ref)
	case f.New.Kind == Regular && kindIs(f.Old, Regular) && f.Old.SHA256 == f.New.SHA256:
	case f.New.Kind == Regular && !kindIs(f.Old, Directory) && g.free(string(f.Path), in.dir):
		in.kind, in.file = gitdata.Named, f
	default:
		in.name = "(" + strings.TrimSpace(kindName(f.New)) + ")"
	}
}

func kindName(s *State) string {
	switch s.Kind {
	case Directory:
		return "directory"
	case Symlink:
		return "symbolic link"
	}
	return "file"
}

// part decides about what is in a git directory.
func (g *gitSort) part(f *File, in *inGit) {
	d := in.dir
	p := gitdata.Of(d.rel(string(f.Path)), func(dir string) bool { return g.known(d, dir) })
	if p.Kind == gitdata.Other && g.free(string(f.Path), d) {
		p.Kind = gitdata.Named
	}
	in.kind = p.Kind
	switch {
	case g.goes(d) && f.New == nil:
		in.kind, in.file = gitdata.Named, f
	case f.New == nil:
		g.removal(f, in, p)
	case g.completes(f, d):
		in.name = p.Name
	case kindIs(f.New, Directory):
		if p.Kind.IsData() && f.Old == nil {
			in.file = g.plain(f, p.Kind)
		} else if f.Old != nil && !kindIs(f.Old, Directory) {
			in.name = p.Name
		}
	case p.Kind == gitdata.Noise:
	case !kindIs(f.New, Regular) || !p.Kind.IsData() || f.Old != nil && !kindIs(f.Old, Regular, Directory):
		if !kindIs(f.Old, Regular) || !kindIs(f.New, Regular) || f.Old.SHA256 != f.New.SHA256 { // or a mode alone
			in.name = p.Name
		}
	case p.Kind == gitdata.Object && kindIs(f.Old, Regular):
		if f.Old.SHA256 != f.New.SHA256 {
			in.name = p.Name
		}
	default:
		if why := g.text(f, d, p.Text); why != "" {
			in.name = p.Name + " (" + why + ")"
		} else if now := g.plain(f, p.Kind); !now.New.equal(f.Old) {
			in.file = now
		}
	}
}

// removal decides about what the run has removed in a git directory.
func (g *gitSort) removal(f *File, in *inGit, p gitdata.Place) {
	switch {
	case p.Kind == gitdata.Noise:
	case !p.Kind.IsData() || p.Keep || !kindIs(f.Old, Regular, Directory) || g.gone(in.dir):
		in.name = p.Name + " (removed)"
	default:
		in.file = f
	}
}

// gone reports whether the run has removed a whole git directory, and goes whether it goes on the host as well.
func (g *gitSort) gone(d *gitDir) bool {
	f := g.byPath[d.path]
	return d.path != "" && f != nil && f.New == nil
}

func (g *gitSort) goes(d *gitDir) bool { return g.gone(d) && g.sorted[g.byPath[d.path]].file != nil }

// plain returns a change without the attributes and permissions that the run has given a file of git's: a file keeps
// its own, and a new one gets those that its directory has.
func (g *gitSort) plain(f *File, kind gitdata.Kind) *File {
	if kind == gitdata.Named {
		return f
	}
	now, state := *f, *f.New
	now.New, state.XAttrs = &state, nil
	switch {
	case kindIs(f.Old, Regular):
		state.Mode, state.XAttrs = f.Old.Mode, f.Old.XAttrs
	case state.Kind == Directory:
		state.Mode = g.mode(string(f.Path)) | 0o700
	default:
		state.Mode = state.Mode&g.mode(string(f.Path))&0o666 | 0o400
	}
	return &now
}

// holdTogether lets no directory go of which something stays, and makes no file in a directory that is not made.
func (g *gitSort) holdTogether() {
	kept := map[string]bool{} // directories of the host in which something stays
	for i := len(g.files) - 1; i >= 0; i-- {
		f := g.files[i]
		in, path := g.sorted[f], string(f.Path)
		removes := kindIs(f.Old, Directory) && !kindIs(f.New, Directory)
		if removes && kept[path] && (in == nil || in.file != nil) {
			g.sorted[f] = &inGit{dir: g.in(path), name: "(removed)"}
			if in != nil {
				in.file, in.name = nil, in.dir.rel(path)+" (removed)"
				g.sorted[f] = in
			}
		}
		if f.Old != nil && g.sorted[f].stays() {
			for up, _ := split(path); up != "" && !kept[up]; up, _ = split(up) {
				kept[up] = true
			}
		}
	}
	for _, f := range g.files {
		in := g.sorted[f]
		up, _ := split(string(f.Path))
		dir := g.byPath[up]
		if in == nil || dir == nil {
			continue
		}
		above := g.sorted[dir]
		switch {
		case f.New == nil && in.file == nil && in.name == "": // a lock in a directory that goes
			if !kindIs(dir.New, Directory) && (above == nil || above.file != nil) {
				in.file = f
			}
		case in.file == nil || above == nil || above.file != nil || kindIs(dir.Old, Directory):
		case above.name != "":
			in.file, in.name = nil, in.dir.rel(string(f.Path))
		default:
			g.make(dir)
		}
	}
}

// make lets a directory come that something comes in, and those above it.
func (g *gitSort) make(dir *File) {
	for in := g.sorted[dir]; in != nil && in.file == nil && !kindIs(dir.Old, Directory); in = g.sorted[dir] {
		in.file = g.plain(dir, gitdata.Ref)
		up, _ := split(string(dir.Path))
		if dir = g.byPath[up]; dir == nil {
			return
		}
	}
}

// turn returns when a change gets its name: objects of git before what refers to them, and removed objects last.
func (in *inGit) turn(removed bool) int {
	switch {
	case in == nil:
		return 0
	case removed:
		return -int(in.kind) + 2*int(gitdata.Named)
	}
	return int(in.kind)
}

// of returns what becomes of a change, also as it comes to the host; nil if it is in no git directory.
func (g *gitSort) of(f *File) *inGit { return g.sorted[g.files[f.index]] }
