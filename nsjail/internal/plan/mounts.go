package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/internal/tricks"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// mounts resolves the caller's mounts.
func (r *resolver) mounts() {
	for i, m := range r.Spec.Mounts {
		r.own = append(r.own, pointsAfter(r, i)...)
		label := spec.Index("mounts", i)
		key := label + ".source"
		e := rootfs.Entry{Label: label, Target: strings.TrimPrefix(m.Target, "/"), NoLinks: r.pin(i)}
		switch m.Type {
		case spec.MountTmpfs:
			e.Kind, e.Mode = rootfs.Tmpfs, mode(m.Mode, 0o1777)
			e.Attr = attrOf(spec.Mount{Writable: true, NoExec: m.NoExec})
			e.Size = int64(cmp.Or(m.Size, spec.DefaultTmpfsSize))
			e.Inodes = cmp.Or(m.Inodes, spec.DefaultTmpfsInodes)
		case spec.MountDir:
			e.Kind, e.Mode = rootfs.Dir, mode(m.Mode, 0o755)
		case spec.MountSymlink:
			e.Kind, e.Text = rootfs.Symlink, m.Source
		case spec.MountFile:
			e.Kind, e.Text, e.Mode = rootfs.File, r.Host.Sources[key].Content, mode(m.Mode, 0o444)
		case spec.MountData:
			e.Kind, e.Text, e.Mode = rootfs.File, m.Content, mode(m.Mode, 0o444)
		case spec.MountVolume:
			r.volume(&e, key, m)
		case spec.MountBind:
			r.bind(&e, key, m)
		case spec.MountCOW:
			r.cow(&e, i, r.Spec.COW(i))
		}
		r.own = append(r.own, e)
	}
	r.protect()
	if len(r.own) > 0 {
		r.own[0].Guarded = true
	}
}

// pointsAfter returns the layers with the mount points that are made after the first n of the caller's mounts.
func pointsAfter(r *resolver, n int) (list []rootfs.Entry) {
	for _, p := range r.Host.Points {
		if p.After == n {
			list = append(list, rootfs.Entry{Kind: rootfs.Points, Label: spec.Index("mounts", p.For) + ".point", Target: p.Dir,
				Names: p.Names, Attr: attrRead})
		}
	}
	return list
}

// pin protects a mount inside a writable mount. Without it the payload could rename a directory between the two and put
// another in its place. A mount point cannot be renamed, removed or replaced, so pin turns each of these directories
// into one. inside reports whether the mount is inside a writable one. The payload could also replace a symbolic link
// in it, so links there are not followed.
func (r *resolver) pin(i int) (inside bool) {
	m := r.Spec.Mounts[i]
	if m.Type == spec.MountDir || m.Type == spec.MountSymlink {
		return false
	}
	var dirs []string
	for dir := path.Dir(m.Target); dir != "/"; dir = path.Dir(dir) {
		at := -1
		for j, o := range r.Spec.Mounts[:i] {
			if o.Type != spec.MountDir && o.Type != spec.MountSymlink &&
				(o.Target == dir || strings.HasPrefix(dir, o.Target+"/")) &&
				(at < 0 || len(o.Target) > len(r.Spec.Mounts[at].Target)) {
				at = j
			}
		}
		if at < 0 || !r.Spec.Mounts[at].Writes() {
			break
		}
		inside = true
		if r.Spec.Mounts[at].Target == dir {
			break
		}
		dirs = append(dirs, strings.TrimPrefix(dir, "/"))
	}
	for _, dir := range slices.Backward(dirs) {
		r.hold(rootfs.Entry{Kind: rootfs.Pin, Label: spec.Index("mounts", i) + ".pin", Target: dir})
	}
	return inside
}

// hold adds an entry that mounts a target on itself. If there is one, it gets the attributes: what is mounted below it
// later keeps its own.
func (r *resolver) hold(e rootfs.Entry) {
	e.NoLinks = true
	for i := range r.own {
		if o := &r.own[i]; (o.Kind == rootfs.Pin || o.Kind == rootfs.Held) && o.Target == e.Target {
			o.Attr |= e.Attr
			return
		}
	}
	r.own = append(r.own, e)
}

func (r *resolver) bind(e *rootfs.Entry, key string, m spec.Mount) {
	host := r.Host.Sources[key]
	if host.Copied {
		e.Kind, e.Text, e.Mode = rootfs.File, host.Content, 0o444|host.Mode&0o111
		return
	}
	e.Kind, e.Attr = rootfs.Bind, attrOf(m)
	e.Source = r.source(key, m.Target, e.Attr, m.Plain)
	switch why := cmp.Or(host.NoOverlay, r.noIDMapLayer()); {
	case m.Writable || m.Live:
	case why == "":
		e.Kind = rootfs.Overlay
	case slices.Contains(r.Spec.Require, "overlay"):
		r.fail(spec.HostError("overlay", m.Target+": "+why, "do not require overlay"))
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("%s is bound, neither overlaid nor copied, so that locks and watches "+
			"(inotify(7)) cross it: %s", m.Target, why))
	}
}

func attrOf(m spec.Mount) uint64 {
	attr := attrRead
	if m.Writable {
		attr = attrPrivate
	}
	if m.NoExec {
		attr |= unix.MOUNT_ATTR_NOEXEC
	}
	return attr
}

// volume shows a Volume's directory, which the volume's launcher makes and the keeper passes.
func (r *resolver) volume(e *rootfs.Entry, key string, m spec.Mount) {
	if r.Host.Sources[key] == nil {
		id, _, _ := strings.Cut(m.Source, "/")
		r.fail(NoVolume(key, id))
	}
	e.Kind, e.Attr = rootfs.Bind, attrOf(m)
	e.Source = rootfs.Source{Path: m.Source, Dir: true, Passed: true,
		FD: r.pass(Passed{Key: key, Attr: e.Attr, Target: m.Target})}
}

// pass has the keeper pass a mount, and returns its slot.
func (r *resolver) pass(m Passed) program.Slot {
	m.Slot, m.InPrefix = r.slots(1), r.Prefix == nil
	r.Passed = append(r.Passed, m)
	return m.Slot
}

// source returns how the jail reaches a file of the host. If the caller is root, the launcher is already an
// unprivileged user, so the keeper makes the mount, idmapped, and passes it. Otherwise the jail opens the path itself
// and checks the identity of the file. A jail in a prepared root, where the host's files are missing, gets the mount
// from a helper in the host's root. A plain mount keeps the owners of its files.
func (r *resolver) source(key, target string, attr uint64, plain bool) rootfs.Source {
	h := r.Host.Sources[key]
	s := rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: h.Dir, Root: h.Root}
	idmap := false
	switch {
	case r.Host.Drop && r.Host.Missing["idmap"] != "":
		r.plain(h, attr)
		return s
	case r.Host.Drop && plain:
	case r.Host.Drop:
		idmap = true
		r.Enforced["idmap"] = "binds show their owner's files as the payload's"
	case r.Mode.Root == nil:
		return s
	}
	s.Passed, s.FD = true, r.pass(Passed{Key: key, Attr: attr, IDMap: idmap, Target: target})
	return s
}

// plain checks a bind of root that is not idmapped. The jail opens its path again, as an ordinary user's jail does, and
// the payload has its own user's permissions there. A bind that the payload cannot use is an error, unless idmap is
// optional.
func (r *resolver) plain(src *host.Source, attr uint64) {
	h, why := r.Host, r.Host.Missing["idmap"]
	r.require("idmap", "", why, fmt.Sprintf("binds are plain, and the payload is %d:%d to them", h.PayloadUID,
		h.PayloadGID))
	if slices.Contains(r.Spec.Optional, "idmap") {
		return
	}
	need := uint32(unix.S_IROTH)
	if src.Dir {
		need |= unix.S_IXOTH
	}
	if attr&unix.MOUNT_ATTR_RDONLY == 0 {
		need |= unix.S_IWOTH
	}
	if src.Permits(h.PayloadUID, h.PayloadGID)&need == need {
		return
	}
	r.fail(spec.HostError("idmap", fmt.Sprintf(
		"%s, and %s (owner %d:%d, mode %04o) is not for the payload, which is %d:%d there",
		why, words.Quote(src.Path), src.UID, src.GID, src.Mode&0o7777, h.PayloadUID, h.PayloadGID),
		fmt.Sprintf("chown -R %d:%[1]d what the payload is to write to, and it runs as that user; chmod -R o+rX "+
			"what it is to read; or give the container the capability "+
			"(docker run --cap-add SYS_ADMIN --cap-add SYS_PTRACE)", cmp.Or(src.UID, spec.DefaultUID))))
}

// OneOwner returns one of the sources that need an idmapped mount if all of them have the same owner, or nil. The
// launcher can then be the user namespace of all.
func (p *Plan) OneOwner() (one *host.Source) {
	for _, m := range p.Passed {
		src := p.Host.Sources[m.Key]
		switch {
		case !m.IDMap:
		case !tricks.OwnerMap.On(), one != nil && (one.UID != src.UID || one.GID != src.GID):
			return nil
		default:
			one = src
		}
	}
	return one
}

// NoVolume returns the error for a mount of a volume that the Runner does not have.
func NoVolume(key, id string) error {
	return spec.CallerError(key,
		"there is no volume "+words.Quote(id)+" here: it was closed, or belongs to another program",
		"make one with Runner.NewVolume, or bind a directory")
}
