package plan

import (
	"fmt"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// cow resolves a mount whose changes go to an overlay. There is no fallback: without the overlay, the payload would
// write to the source.
func (r *resolver) cow(e *rootfs.Entry, i int, m spec.Mount) {
	src := r.Host.Sources[spec.SourceKey(i)]
	r.mayOverlay(i, m, src)
	e.Kind, e.Attr, e.Mode = rootfs.COW, attrRead, src.Mode&0o1777
	e.Source = r.source(spec.SourceKey(i), m.Target, e.Attr, false)
	e.Upper, r.Uppers = r.upper(i, m), append(r.Uppers, i)
	e.Size, e.Inodes = int64(m.Size), m.Inodes
	for _, p := range r.Host.Protected {
		if p.Mount == i && p.Absent {
			e.Ghosts = append(e.Ghosts, rootfs.Ghost{Path: strings.TrimPrefix(p.Target, m.Target+"/"), Text: p.Text})
		}
	}
	if !r.Host.Drop && (src.UID != r.Host.UID || src.GID != r.Host.GID) {
		r.Notes = append(r.Notes, fmt.Sprintf("%s belongs to %d:%d: the payload, which is %d:%d to it, can change no file "+
			"of another owner or group there (EOVERFLOW)", words.Quote(m.Target), src.UID, src.GID, r.Host.UID, r.Host.GID))
	}
}

// upper returns the directory on disk for the changes of an overlay, or nil for those in memory.
func (r *resolver) upper(i int, m spec.Mount) (dir *rootfs.Source) {
	by := "the kernel bounds the changes, in memory"
	if r.Host.Sources[spec.UpperKey(i)] != nil {
		dir = r.store(spec.UpperKey(i), m.Target)
		by = "brig counts the changes, on disk, up to ten times a second, and ends the jail when they are too many"
		if m.Store != spec.StoreDisk {
			r.Notes = append(r.Notes, "the changes of the root are kept on disk, since in memory they take Linux 6.6")
		}
	}
	if was := r.Enforced["cow"]; was != "" && was != "overlay; "+by {
		by = "of some mounts " + by + "; of others it is the other way"
	}
	r.Enforced["cow"] = "overlay; " + by
	return dir
}

// mayOverlay fails if a directory cannot be a layer, or if its changes cannot be kept.
func (r *resolver) mayOverlay(i int, m spec.Mount, src *host.Source) {
	fail := func(why, remedy string) {
		r.fail(spec.HostError("cow", words.Quote(m.Target)+": "+why, remedy))
	}
	place := "keep the changes on disk (store=disk)"
	if m.MayUseDisk() {
		place = host.OtherStore
	}
	switch h, root := r.Host, i == spec.Root; {
	case src.NoOverlay != "":
		fail(src.NoOverlay, "copy the directory to another file system")
	case src.NoUpper != "" && root && m.Store == "": // its changes are dropped
		r.Notes = append(r.Notes, "the writable root: "+src.NoUpper+"; mkdir(2) there is EIO, unless store=disk")
	case src.NoUpper != "":
		fail(src.NoUpper, place)
	case r.noIDMapLayer() != "":
		fail(r.noIDMapLayer(), "run brig as the owner of the directory")
	case h.Drop && h.Missing["idmap"] != "" && src.UID != h.PayloadUID && !root:
		fail(fmt.Sprintf("%s, and its owner is %d and the payload %d", h.Missing["idmap"], src.UID,
			h.PayloadUID), "run brig as the owner of the directory")
	}
}

// noIDMapLayer returns why a directory's mount, which is idmapped for root, cannot be a layer of an overlay, or "".
func (r *resolver) noIDMapLayer() string {
	if h := r.Host; h.Drop && h.Missing["idmap"] == "" && !h.Kernel.AtLeast(5, 19) {
		return "an overlay of an idmapped mount, which root needs, takes Linux 5.19"
	}
	return ""
}

// store returns how the jail reaches a directory of brig's on disk, which belongs to the payload.
func (r *resolver) store(key, target string) *rootfs.Source {
	h := r.Host.Sources[key]
	s := &rootfs.Source{Path: h.Path, Dev: h.Dev, Ino: h.Ino, Dir: true}
	if s.Passed = r.Mode.Root != nil || r.Host.Drop && r.Host.Missing["idmap"] == ""; s.Passed {
		s.FD = r.pass(Passed{Key: key, Attr: attrPrivate, Target: target})
	}
	return s
}

// passUppers sends the upper directories that the tree has just made.
func (r *resolver) passUppers() {
	for _, fd := range r.tree.Uppers() {
		passTagged(r.Jail, "cow", fd, TagUpper, "[upper directory]")
	}
}
