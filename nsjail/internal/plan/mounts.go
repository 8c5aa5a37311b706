package plan

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// mounts decides the entries of the caller's mounts.
type mounts struct {
	sources
	layers  layers // beside that of the root
	entries []rootfs.Entry
}

// decideMounts returns the entries of the caller's mounts, with what protects paths in them, and the overlays.
func decideMounts(in *input, root layers, fds *intake, out *report) ([]rootfs.Entry, layers) {
	x := &mounts{sources: sources{in, out, fds}, layers: root}
	for i, m := range in.Mounts {
		x.points(i)
		x.add(i, m)
	}
	x.protect()
	if len(x.entries) > 0 {
		x.entries[0].Guarded = true
	}
	return x.entries, x.layers
}

// add adds one mount.
func (x *mounts) add(i int, m spec.Mount) {
	label, id := spec.Index("mounts", i), host.SourceOf(i)
	e := rootfs.Entry{Label: label, Target: strings.TrimPrefix(m.Target, "/"), NoLinks: x.pin(i)}
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
		e.Kind, e.Text, e.Mode = rootfs.File, x.host.Sources.At(id).Content, mode(m.Mode, 0o444)
	case spec.MountData:
		e.Kind, e.Text, e.Mode = rootfs.File, m.Content, mode(m.Mode, 0o444)
	case spec.MountVolume:
		x.volume(&e, id, m)
	case spec.MountBind:
		x.bind(&e, id, m)
	case spec.MountCOW:
		x.cow(&e, i, x.COW(i))
	}
	x.entries = append(x.entries, e)
}

// points adds the layers with the mount points that are made after the first n of the caller's mounts.
func (x *mounts) points(n int) {
	for _, p := range x.host.Points {
		if p.After == n {
			x.entries = append(x.entries, rootfs.Entry{Kind: rootfs.Points, Label: spec.Index("mounts", p.For) + ".point",
				Target: p.Dir, Names: p.Names, Attr: attrRead})
		}
	}
}

// pin protects a mount inside a writable mount. Without it the payload could rename a directory between the two and put
// another in its place. A mount point cannot be renamed, removed or replaced, so pin turns each of these directories
// into one. inside reports whether the mount is inside a writable one. The payload could also replace a symbolic link
// in it, so links there are not followed.
func (x *mounts) pin(i int) (inside bool) {
	m := x.Mounts[i]
	if m.Type == spec.MountDir || m.Type == spec.MountSymlink {
		return false
	}
	var dirs []string
	for dir := path.Dir(m.Target); dir != "/"; dir = path.Dir(dir) {
		at := -1
		for j, o := range x.Mounts[:i] {
			if o.Type != spec.MountDir && o.Type != spec.MountSymlink &&
				(o.Target == dir || strings.HasPrefix(dir, o.Target+"/")) &&
				(at < 0 || len(o.Target) > len(x.Mounts[at].Target)) {
				at = j
			}
		}
		if at < 0 || !x.Mounts[at].Writes() {
			break
		}
		inside = true
		if x.Mounts[at].Target == dir {
			break
		}
		dirs = append(dirs, strings.TrimPrefix(dir, "/"))
	}
	for _, dir := range slices.Backward(dirs) {
		x.hold(rootfs.Entry{Kind: rootfs.Pin, Label: spec.Index("mounts", i) + ".pin", Target: dir})
	}
	return inside
}

// hold adds an entry that mounts a target on itself. If there is one, it gets the attributes: what is mounted below it
// later keeps its own.
func (x *mounts) hold(e rootfs.Entry) {
	e.NoLinks = true
	for i := range x.entries {
		if o := &x.entries[i]; (o.Kind == rootfs.Pin || o.Kind == rootfs.Held) && o.Target == e.Target {
			o.Attr |= e.Attr
			return
		}
	}
	x.entries = append(x.entries, e)
}

func (x *mounts) bind(e *rootfs.Entry, id host.SourceID, m spec.Mount) {
	src := x.host.Sources.At(id)
	if src.Copied {
		e.Kind, e.Text, e.Mode = rootfs.File, src.Content, 0o444|src.Mode&0o111
		return
	}
	e.Kind, e.Attr = rootfs.Bind, attrOf(m)
	e.Source = x.source(id, m.Target, e.Attr, m.Plain)
	switch why := cmp.Or(src.NoOverlay, noIDMapLayer(x.host)); {
	case m.Writable || m.Live:
	case why == "":
		e.Kind = rootfs.Overlay
	case slices.Contains(x.Require, "overlay"):
		x.out.fail(spec.HostError("overlay", m.Target+": "+why, "do not require overlay"))
	default:
		x.out.note(words.Plain(fmt.Sprintf("%s is bound, neither overlaid nor copied, so that locks and watches "+
			"(inotify(7)) cross it: %s", m.Target, why)))
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
func (x *mounts) volume(e *rootfs.Entry, id host.SourceID, m spec.Mount) {
	if x.host.Sources.At(id) == nil {
		name, _, _ := strings.Cut(m.Source, "/")
		x.out.fail(NoVolume(id, name))
	}
	e.Kind, e.Attr = rootfs.Bind, attrOf(m)
	e.Source = rootfs.Source{Path: m.Source, Dir: true, Passed: true,
		FD: x.fds.pass(Passed{Source: id, Attr: e.Attr, Target: m.Target})}
}
