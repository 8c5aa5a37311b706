package nsjail

import (
	"fmt"
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
	}
	return nil
}

func (r *resolver) bind(label, key, target string, m Mount) error {
	attr := attrPrivate
	if !m.Writable {
		attr = attrRead
	}
	src, err := r.source(key, m.Target, attr)
	if err != nil {
		return err
	}
	e := rootfs.Entry{Kind: rootfs.Bind, Label: label, Target: target, Source: src, Attr: attr}
	host := r.host.Sources[key]
	if !m.Writable && !m.Live && host.Dir {
		if host.NoOverlay == "" {
			e.Kind = rootfs.Overlay
		} else if contains(r.spec.Require, "overlay") {
			return &Error{Fault: FaultHost, Op: "overlay", Detail: m.Target + ": " + host.NoOverlay, Remedy: "do not require overlay"}
		} else {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is bound, not overlaid: %s", m.Target, host.NoOverlay))
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
// since the stage is nobody by then; for others the jail opens the path again and checks that it is the same file, or,
// born where the host's tree is not, gets the mount from a process that does.
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
