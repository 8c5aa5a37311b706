package host

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// protector finds what Spec.Protect names.
type protector struct {
	h       *looker
	s       *spec.Spec
	areas   *areas
	held    held
	links   walk.Links      // in protected paths
	walked  map[string]bool // parts of git directories in which links were looked for
	linking bool            // links in a protected directory are followed
	makes   makes
	git     whole       // while what ProtectGit stands for is protected
	views   []Protected // git directories that another mount covers
	err     error       // the first one
	storing bool        // brig's own directories are being protected: no "!PATH" takes these back
}

// held are the protected paths of the host, each with its first path in the jail, and those that were found to need no
// protection, with "".
type held map[string]string

// covers reports whether a path of the host is a protected one or below one.
func (h held) covers(full string) bool {
	for ; full != "/"; full = path.Dir(full) {
		if h[full] != "" {
			return true
		}
	}
	return false
}

// lookProtect finds the paths that the Spec protects, and by which names they can be reached.
func (h *looker) lookProtect() error {
	s := h.spec
	h.Protection = Protection{}
	if len(s.Protect) == 0 && slices.IndexFunc(s.Mounts, func(m spec.Mount) bool { return m.Writes() }) < 0 {
		return nil
	}
	all, err := newAreas(s.Mounts, &h.Sources)
	if err != nil {
		return err
	}
	p := &protector{h: h, s: s, areas: all, held: held{}, links: walk.Links{}, makes: makes{h.UID, map[string]bool{}},
		walked: map[string]bool{}}
	p.own()
	if p.err != nil {
		return p.err
	}
	own := len(h.Protected)
	for _, entry := range s.Protect {
		p.entry(entry)
	}
	p.otherNames()
	p.otherMounts()
	if p.err != nil && slices.Contains(s.Optional, "protect") {
		h.Protected, h.Ghosts = h.Protected[:own], nil
		h.Missing = maps.Clone(h.Missing) // other runs of a Runner have the same map
		h.Missing["protect"] = words.Message(p.err)
		return nil
	}
	return p.err
}

// fail keeps the first error. A path that cannot be protected is an error, with a remedy.
func (p *protector) fail(full, why string, remedy words.Text) {
	if p.err == nil {
		p.err = spec.CallerError("protect", words.Quote(full)+" "+why, remedy)
	}
}

// entry protects the paths that one entry of Spec.Protect names.
func (p *protector) entry(entry string) {
	switch {
	case strings.HasPrefix(entry, "!"):
	case entry == spec.ProtectGit:
		p.repositories()
	case path.IsAbs(entry):
		p.inMount(p.s.Below(entry), entry)
	default:
		for i, m := range p.s.Mounts {
			if target := path.Join(m.Target, entry); p.s.Below(target) == i {
				p.inMount(i, target)
			}
		}
	}
}

// inMount protects a path of the jail in a mount. The content of a volume is not known: if the path is missing there,
// the jail's init makes a directory.
func (p *protector) inMount(i int, target string) {
	if p.s.Mounts[i].Type == spec.MountVolume {
		p.h.Protected = append(p.h.Protected, Protected{Target: target, Mount: i})
		return
	}
	for _, a := range p.areas.list {
		if a.mount == i {
			p.protectPath(a.path, strings.TrimPrefix(target, a.target+"/"))
		}
	}
}

// protectPath protects the file that a path leads to on the host.
func (p *protector) protectPath(dir, rel string) {
	if full, st := p.follow(dir, rel); st != nil {
		p.protect(full, st, "")
	}
}

// follow resolves a path of the host, and returns the resulting path with its stat(2). It protects the symbolic links
// on the way, and the first name that does not exist. The stat is nil if nothing is left to protect.
func (p *protector) follow(dir, rel string) (string, *unix.Stat_t) {
	way := walk.Path(dir, rel)
	for _, link := range way.Links {
		p.protect(link.Full, link.Stat, "")
	}
	full := way.End.Full
	switch way.Err {
	case nil:
	case unix.ENOENT:
		missing, rest := full, way.Rest
		if p.storing && p.makes.in(path.Dir(full)) {
			missing, rest = path.Join(append([]string{full}, rest...)...), nil
		}
		for len(rest) > 0 && p.h.HoldsStore(missing) { // it will exist by then
			missing, rest = path.Join(missing, rest[0]), rest[1:]
		}
		p.protect(missing, nil, "")
	case unix.EACCES, unix.ENOTDIR: // ENOTDIR: the path leads through a file
		p.denied(full, way.Err)
	default:
		p.fail(full, way.Err.Error(), "check the file system, or take it back: "+spec.Unprotected())
	}
	return full, way.End.Stat
}

// protect protects a path of the host in every writable bind that shows it. st is nil if the path does not exist; text
// is then the content of the file that takes its place.
func (p *protector) protect(full string, st *unix.Stat_t, text string) {
	p.areas.note(full, st)
	if _, done := p.held[full]; done || p.err != nil || p.part(full, st) || p.linking && p.held.covers(path.Dir(full)) {
		return
	}
	p.held[full] = ""
	from, ghost := len(p.h.Protected), Ghost{Dir: path.Dir(full), Name: path.Base(full), Text: text, Root: -1}
	for a, rel := range p.areas.with(full) {
		target := path.Join(a.target, rel)
		switch {
		case p.storing && a.internal || p.free(full, a) || st == nil && !a.cow && !p.makes.in(path.Dir(full)):
		case !p.storing && p.s.TakesBack(rel, target):
			p.h.Protected, p.h.Unprotected = p.h.Protected[:from], append(p.h.Unprotected, target)
			return
		case rel == "":
			p.fail(full, "is protected, and the mount at "+words.Quote(a.target)+" shows it writable", p.remedy(full))
		case p.s.Below(target) == a.mount: // else another mount hides it
			if !a.cow {
				ghost.Root, ghost.Below = a.fd, path.Dir(rel)
			}
			p.held[full] = cmp.Or(p.held[full], target)
			x := Protected{Target: target, Mount: a.mount, Path: full, Absent: st == nil, Text: text}
			if st != nil {
				x.Dev, x.Ino = uint64(st.Dev), st.Ino
			}
			p.h.Protected = append(p.h.Protected, x)
		}
	}
	if len(p.h.Protected) > spec.MaxProtected {
		p.fail(full, fmt.Sprintf("is one of more than %d protected paths", spec.MaxProtected),
			"take some back, as in "+words.Set("protect", "!.git/worktrees")+", or remove what is stale: git worktree prune")
	}
	if p.storing && (st == nil || st.Mode&unix.S_IFMT == unix.S_IFDIR) {
		if p.held[full] != "" {
			p.h.Stores = append(p.h.Stores, full)
		}
		if st != nil {
			p.inside(full, st)
		}
		return
	}
	if ghost.Root < 0 || p.git.has(full) {
		return
	}
	p.h.Ghosts = append(p.h.Ghosts, ghost)
	if st == nil {
		return
	}
	if len(p.h.Ghosts) == 1 {
		if err := Folds(path.Dir(full), path.Base(full)); err != nil {
			p.fail(full, err.Error(), "copy the tree to another file system")
		}
	}
	p.inside(full, st)
}
