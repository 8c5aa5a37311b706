package nsjail

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/rootfs"
)

// mounts decides the caller's own.
func (r *resolver) mounts() error {
	defer func() {
		if len(r.own) > 0 {
			r.own[0].Guarded = true
		}
	}()
	for i, m := range r.spec.Mounts {
		label := fmt.Sprintf("mounts[%d]", i)
		target := strings.TrimPrefix(m.Target, "/")
		key := label + ".source"
		first, inside := len(r.own), r.pin(i)
		switch m.Type {
		case MountTmpfs:
			r.addOwn(tmpfs(label, m))
		case MountDir:
			r.addOwn(rootfs.Entry{Kind: rootfs.Dir, Label: label, Target: target, Mode: mode(m.Mode, 0o755)})
		case MountSymlink:
			r.addOwn(rootfs.Entry{Kind: rootfs.Symlink, Label: label, Target: target, Text: m.Source})
		case MountFile:
			r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: r.host.Sources[key].Content, Mode: mode(m.Mode, 0o444)})
		case MountData:
			r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: m.Content, Mode: mode(m.Mode, 0o444)})
		case MountVolume:
			if err := r.volume(label, key, target, m); err != nil {
				return err
			}
		case MountBind:
			if err := r.bind(label, key, target, m); err != nil {
				return err
			}
		}
		for k := first; k < len(r.own); k++ {
			r.own[k].NoLinks = inside
		}
	}
	return nil
}

// pin keeps a mount inside of a writable mount at its place: the payload could otherwise rename a directory between the
// two, and put another in its place. A mount point cannot be renamed, removed or replaced, so each of these directories
// becomes one. inside reports whether there is such a mount; a symbolic link in it could be replaced, too, and is not
// followed.
func (r *resolver) pin(i int) (inside bool) {
	m := r.spec.Mounts[i]
	if m.Type == MountDir || m.Type == MountSymlink {
		return false
	}
	var dirs []string
	for dir := path.Dir(m.Target); dir != "/"; dir = path.Dir(dir) {
		at := -1
		for j, o := range r.spec.Mounts[:i] {
			if o.Type != MountDir && o.Type != MountSymlink && (o.Target == dir || strings.HasPrefix(dir, o.Target+"/")) &&
				(at < 0 || len(o.Target) > len(r.spec.Mounts[at].Target)) {
				at = j
			}
		}
		if at < 0 || !r.spec.Mounts[at].Writable {
			break
		}
		inside = true
		if r.spec.Mounts[at].Target == dir {
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

func (r *resolver) bind(label, key, target string, m Mount) error {
	host := r.host.Sources[key]
	if host.Copied {
		r.addOwn(rootfs.Entry{Kind: rootfs.File, Label: label, Target: target, Text: host.Content,
			Mode: 0o444 | host.Mode&0o111})
		return nil
	}
	attr := attrPrivate
	if !m.Writable {
		attr = attrRead
	}
	src, err := r.source(key, m.Target, attr)
	if err != nil {
		return err
	}
	e := rootfs.Entry{Kind: rootfs.Bind, Label: label, Target: target, Source: src, Attr: attr}
	if !m.Writable && !m.Live {
		if host.NoOverlay == "" {
			e.Kind = rootfs.Overlay
		} else if contains(r.spec.Require, "overlay") {
			return &Error{Fault: FaultHost, Op: "overlay", Detail: m.Target + ": " + host.NoOverlay, Remedy: "do not require overlay"}
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is bound, neither overlaid nor copied, so that locks and watches "+
				"(inotify(7)) cross it: %s", m.Target, host.NoOverlay))
		}
	}
	r.addOwn(e)
	return nil
}

// volume shows a directory of a Volume: the mount is made where the volume is, and passed.
func (r *resolver) volume(label, key, target string, m Mount) error {
	attr := attrPrivate
	if !m.Writable {
		attr = attrRead
	}
	h := r.host.Sources[key]
	if h == nil {
		id, _, _ := strings.Cut(m.Source, "/")
		return noVolume(key, id)
	}
	src := rootfs.Source{Path: m.Source, Dir: true, Passed: true, FD: r.in}
	r.in++
	r.Passed = append(r.Passed, Passed{Key: key, Attr: attr, Target: m.Target, slot: src.FD, head: r.Head == nil})
	r.addOwn(rootfs.Entry{Kind: rootfs.Bind, Label: label, Target: target, Source: src, Attr: attr})
	return nil
}

// source says how the jail gets at a file of the host: for root the keeper makes the mount, idmapped, and passes it,
// since the launcher is nobody by then; for others the jail opens the path again and checks that it is the same file,
// or, born where the host's tree is not, gets the mount from a process that does.
func (r *resolver) source(key, target string, attr uint64) (rootfs.Source, error) {
	h := r.host.Sources[key]
	s := rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: h.Dir, Root: h.Root}
	idmap := false
	if r.host.Drop && r.host.Missing["idmap"] != "" {
		return s, r.plain(h, attr)
	} else if r.host.Drop {
		var err error
		if idmap, err = r.have("idmap", "binds show their owner's files as the payload's", h.NoIDMap, ""); err != nil {
			return s, err
		}
	} else if r.warm == nil {
		return s, nil
	}
	s.Passed, s.FD = true, r.in
	r.in++
	r.Passed = append(r.Passed, Passed{Key: key, Attr: attr, IDMap: idmap, Target: target, slot: s.FD, head: r.Head == nil})
	return s, nil
}

func tmpfs(label string, m Mount) rootfs.Entry {
	size, inodes := int64(DefaultTmpfsSize), int64(DefaultTmpfsInodes)
	if m.Size > 0 {
		size = int64(m.Size)
	}
	if m.Inodes > 0 {
		inodes = m.Inodes
	}
	return rootfs.Entry{Kind: rootfs.Tmpfs, Label: label, Target: strings.TrimPrefix(m.Target, "/"),
		Size: size, Inodes: inodes, Mode: mode(m.Mode, 0o1777), Attr: attrPrivate}
}
