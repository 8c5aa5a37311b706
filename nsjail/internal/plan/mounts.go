package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// mounts resolves the caller's mounts.
func (r *resolver) mounts() {
	for i, m := range r.Spec.Mounts {
		label := fmt.Sprintf("mounts[%d]", i)
		target := strings.TrimPrefix(m.Target, "/")
		key := label + ".source"
		first, inside := len(r.own), r.pin(i)
		switch m.Type {
		case spec.MountTmpfs:
			r.addOwn(tmpfs(label, m))
		case spec.MountDir:
			r.addOwn(rootfs.Entry{Kind: rootfs.Dir, Label: label, Target: target, Mode: mode(m.Mode, 0o755)})
		case spec.MountSymlink:
			r.addOwn(rootfs.Entry{Kind: rootfs.Symlink, Label: label, Target: target, Text: m.Source})
		case spec.MountFile:
			r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: r.Host.Sources[key].Content,
				Mode: mode(m.Mode, 0o444)})
		case spec.MountData:
			r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: m.Content, Mode: mode(m.Mode, 0o444)})
		case spec.MountVolume:
			r.volume(label, key, target, m)
		case spec.MountBind:
			r.bind(label, key, target, m)
		}
		for k := first; k < len(r.own); k++ {
			r.own[k].NoLinks = inside
		}
	}
	if len(r.own) > 0 {
		r.own[0].Guarded = true
	}
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
		if at < 0 || !r.Spec.Mounts[at].Writable {
			break
		}
		inside = true
		if r.Spec.Mounts[at].Target == dir {
			break
		}
		dirs = append(dirs, strings.TrimPrefix(dir, "/"))
	}
	for _, dir := range slices.Backward(dirs) {
		if !slices.ContainsFunc(r.own, func(e rootfs.Entry) bool { return e.Kind == rootfs.Pin && e.Target == dir }) {
			r.addOwn(rootfs.Entry{Kind: rootfs.Pin, Label: fmt.Sprintf("mounts[%d].pin", i), Target: dir, NoLinks: true})
		}
	}
	return inside
}

func (r *resolver) bind(label, key, target string, m spec.Mount) {
	host := r.Host.Sources[key]
	if host.Copied {
		r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: host.Content,
			Mode: 0o444 | host.Mode&0o111})
		return
	}
	attr := attrOf(m)
	e := rootfs.Entry{Kind: rootfs.Bind, Label: label, Target: target, Source: r.source(key, m.Target, attr), Attr: attr}
	if !m.Writable && !m.Live {
		if host.NoOverlay == "" {
			e.Kind = rootfs.Overlay
		} else if slices.Contains(r.Spec.Require, "overlay") {
			r.fail(spec.HostError("overlay", m.Target+": "+host.NoOverlay, "do not require overlay"))
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is bound, neither overlaid nor copied, so that locks and watches "+
				"(inotify(7)) cross it: %s", m.Target, host.NoOverlay))
		}
	}
	r.addOwn(e)
}

func attrOf(m spec.Mount) uint64 {
	if m.Writable {
		return attrPrivate
	}
	return attrRead
}

// volume adds a mount of a Volume's directory, which the volume's launcher makes and the keeper passes.
func (r *resolver) volume(label, key, target string, m spec.Mount) {
	if r.Host.Sources[key] == nil {
		id, _, _ := strings.Cut(m.Source, "/")
		r.fail(NoVolume(key, id))
	}
	src := rootfs.Source{Path: m.Source, Dir: true, Passed: true,
		FD: r.pass(Passed{Key: key, Attr: attrOf(m), Target: m.Target})}
	r.addOwn(rootfs.Entry{Kind: rootfs.Bind, Label: label, Target: target, Source: src, Attr: attrOf(m)})
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
// from a helper in the host's root.
func (r *resolver) source(key, target string, attr uint64) rootfs.Source {
	h := r.Host.Sources[key]
	s := rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: h.Dir, Root: h.Root}
	idmap := false
	switch {
	case r.Host.Drop && r.Host.Missing["idmap"] != "":
		r.plain(h, attr)
		return s
	case r.Host.Drop:
		idmap = r.require("idmap", "binds show their owner's files as the payload's", h.NoIDMap, "")
	case r.Mode.Root == nil:
		return s
	}
	s.Passed, s.FD = true, r.pass(Passed{Key: key, Attr: attr, IDMap: idmap, Target: target})
	return s
}

func tmpfs(label string, m spec.Mount) rootfs.Entry {
	return rootfs.Entry{Kind: rootfs.Tmpfs, Label: label, Target: strings.TrimPrefix(m.Target, "/"),
		Size: int64(cmp.Or(m.Size, spec.DefaultTmpfsSize)), Inodes: cmp.Or(m.Inodes, spec.DefaultTmpfsInodes),
		Mode: mode(m.Mode, 0o1777), Attr: attrPrivate}
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

// NoVolume returns the error for a mount of a volume that the Runner does not have.
func NoVolume(key, id string) error {
	return spec.CallerError(key,
		"there is no volume "+words.Quote(id)+" here: it was closed, or belongs to another program",
		"make one with Runner.NewVolume, or bind a directory")
}
