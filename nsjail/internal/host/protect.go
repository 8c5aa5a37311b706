package host

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/repository"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// protector finds what Spec.Protect names.
type protector struct {
	h       *looker
	s       *spec.Spec
	areas   []area
	ids     map[string]fileID   // of directories, by path
	held    map[string]string   // their first path in the jail
	links   map[fileID]string   // files with more than one name
	walked  map[string]bool     // parts of git directories in which links were looked for
	linking bool                // links in a protected directory are followed
	makes   map[string]bool     // of directories: whether the payload could make a file there
	git     []repository.GitDir // that are protected as a whole, while what ProtectGit stands for is
	views   []Protected         // git directories that another mount covers
	err     error               // the first one
	storing bool                // brig's own directories are being protected: no "!PATH" takes these back
}

// area is a writable bind, or a cow, below which no file of the host changes.
type area struct {
	mount    int
	cow      bool
	internal bool   // spec.Held.Internal: brig's own directories may be in it
	path     string // without symbolic links
	id       fileID
	fd       int
}

// lookProtect finds the paths that the Spec protects, and by which names they can be reached.
func (h *looker) lookProtect() error {
	s := h.spec
	h.Protection = Protection{}
	if len(s.Protect) == 0 && slices.IndexFunc(s.Mounts, func(m spec.Mount) bool { return m.Writes() }) < 0 {
		return nil
	}
	p := &protector{h: h, s: s, ids: map[string]fileID{}, held: map[string]string{}, links: map[fileID]string{},
		makes: map[string]bool{}, walked: map[string]bool{}}
	for i, m := range s.Mounts {
		src := h.Sources.Of(i)
		if !m.Writes() || m.Type == spec.MountVolume {
			continue
		}
		real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(src.Fd))
		if err != nil {
			return err
		}
		p.areas = append(p.areas, area{i, m.Type == spec.MountCOW, m.Internal(), real, fileID{src.Dev, src.Ino}, src.Fd})
	}
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
	for _, a := range p.areas {
		if a.mount == i {
			p.protectPath(a.path, strings.TrimPrefix(target, p.s.Mounts[i].Target+"/"))
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
	rest, links := strings.Split(rel, "/"), 0
	var st *unix.Stat_t
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			dir, st = path.Dir(dir), nil
			continue
		}
		full := path.Join(dir, name)
		st = new(unix.Stat_t)
		switch err := unix.Lstat(full, st); {
		case err == unix.ENOENT && p.storing && p.canMake(dir):
			p.protect(path.Join(append([]string{full}, rest...)...), nil, "")
			return full, nil
		case err == unix.ENOENT:
			p.protect(full, nil, "")
			return full, nil
		case err == unix.EACCES || err == unix.ENOTDIR: // ENOTDIR: the path leads through a file
			p.denied(full, err)
			return full, nil
		case err == unix.ENAMETOOLONG && len(name) > unix.NAME_MAX: // the text of a link that cannot be followed
			return full, nil
		case err != nil:
			p.fail(full, err.Error(), "check the file system, or take it back: "+spec.Unprotected())
			return full, nil
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			p.protect(full, st, "")
			text, err := os.Readlink(full)
			if links++; err != nil || links > 40 { // ELOOP: it cannot be followed
				return full, nil
			}
			if path.IsAbs(text) {
				dir = "/"
			}
			rest, st = append(strings.Split(text, "/"), rest...), nil
			continue
		case st.Mode&unix.S_IFMT != unix.S_IFDIR && len(rest) > 0:
			return full, st // a file where a directory was meant
		}
		dir = full
	}
	if st == nil {
		st = new(unix.Stat_t)
		if unix.Lstat(dir, st) != nil {
			return dir, nil
		}
	}
	return dir, st
}

// protect protects a path of the host in every writable bind that shows it. st is nil if the path does not exist; text
// is then the content of the file that takes its place.
func (p *protector) protect(full string, st *unix.Stat_t, text string) {
	if _, known := p.ids[full]; !known && len(p.areas) > 1 { // below need not ask again
		p.ids[full] = idOf(st)
	}
	if _, done := p.held[full]; done || p.err != nil || p.part(full, st) || p.linking && p.covered(path.Dir(full)) {
		return
	}
	p.held[full] = ""
	from, ghost := len(p.h.Protected), Ghost{Dir: path.Dir(full), Name: path.Base(full), Text: text, Root: -1}
	for i := range p.areas {
		a := &p.areas[i]
		rel, ok := p.below(full, a)
		m := p.s.Mounts[a.mount]
		target := path.Join(m.Target, rel)
		switch {
		case !ok || p.storing && a.internal || p.free(full, a) || st == nil && !a.cow && !p.canMake(path.Dir(full)):
		case !p.storing && p.s.TakesBack(rel, target):
			p.h.Protected, p.h.Unprotected = p.h.Protected[:from], append(p.h.Unprotected, target)
			return
		case rel == "":
			p.fail(full, "is protected, and the mount at "+words.Quote(m.Target)+" shows it writable", p.remedy(full))
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
	if ghost.Root < 0 || p.isGit(full) {
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

// canMake reports whether the payload could make a file in a directory: not on a read-only file system, nor in another
// user's directory that this user cannot write to.
func (p *protector) canMake(dir string) bool {
	can, known := p.makes[dir]
	if !known {
		var st unix.Stat_t
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS)
		can = err != unix.EROFS && (err != unix.EACCES || unix.Lstat(dir, &st) == nil && int(st.Uid) == p.h.UID)
		p.makes[dir] = can
	}
	return can
}

// below returns the path of a file relative to a bind. The directories above it are compared with the bind's by their
// inode numbers, since one directory can be mounted at several places of the host.
func (p *protector) below(full string, a *area) (rel string, ok bool) {
	for at := full; ; at = path.Dir(at) {
		if at == a.path || (at != full || len(p.areas) > 1) && p.id(at) == a.id {
			return strings.TrimPrefix(strings.TrimPrefix(full, at), "/"), true
		}
		if at == "/" || len(p.areas) == 1 && len(at) < len(a.path) {
			return "", false
		}
	}
}

func (p *protector) id(name string) fileID {
	id, ok := p.ids[name]
	if !ok {
		st := new(unix.Stat_t)
		if unix.Lstat(name, st) != nil {
			st = nil
		}
		id = idOf(st)
		p.ids[name] = id
	}
	return id
}

// idOf returns the identity of a file by its stat(2): none for one that does not exist.
func idOf(st *unix.Stat_t) fileID {
	if st == nil {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino}
}
