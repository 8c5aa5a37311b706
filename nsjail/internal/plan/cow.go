package plan

import (
	"fmt"
	"strings"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// layers are the overlays that take changes of the payload's: a root's, and those of cow mounts.
type layers struct {
	sent           []int // the indexes in Spec.COWs of the upper directories that the jail sends to the keeper
	memory, onDisk bool  // where changes go: of some, of others
}

// upper returns the directory on disk for the changes of an overlay, or nil for those in memory.
func (l *layers) upper(x *sources, i int, m spec.Mount) (dir *rootfs.Source) {
	if x.host.Sources.At(host.UpperOf(i)) == nil {
		l.memory = true
	} else {
		l.onDisk = true
		dir = x.store(host.UpperOf(i), m.Target)
		if m.Store != spec.StoreDisk {
			x.out.note("the changes of the root are kept on disk, since in memory they take Linux 6.6")
		}
	}
	x.out.enforced["cow"] = words.Plain("overlay; " + l.bound(dir != nil))
	return dir
}

// bound tells who bounds the changes. last is where those of the last overlay go.
func (l *layers) bound(last bool) (by string) {
	by = "the kernel bounds the changes, in memory"
	if last {
		by = "brig counts the changes, on disk, up to ten times a second, and ends the jail when they are too many"
	}
	if l.memory && l.onDisk {
		by = "of some mounts " + by + "; of others it is the other way"
	}
	return by
}

// mayOverlay fails if a directory cannot be a layer, or if its changes cannot be kept.
func mayOverlay(x *sources, i int, m spec.Mount, src *host.Source) {
	fail := func(why, remedy string) {
		x.out.fail(spec.HostError("cow", words.Quote(m.Target)+": "+why, remedy))
	}
	place := "keep the changes on disk (store=disk)"
	if m.MayUseDisk() {
		place = host.OtherStore
	}
	switch h, root := x.host, i == spec.Root; {
	case src.NoOverlay != "":
		fail(src.NoOverlay, "copy the directory to another file system")
	case src.NoUpper != "" && root && m.Store == "": // its changes are dropped
		x.out.note(words.Plain("the writable root: " + src.NoUpper + "; mkdir(2) there is EIO, unless store=disk"))
	case src.NoUpper != "":
		fail(src.NoUpper, place)
	case noIDMapLayer(h) != "":
		fail(noIDMapLayer(h), "run brig as the owner of the directory")
	case h.Drop && h.Missing["idmap"] != "" && src.UID != h.PayloadUID && !root:
		fail(fmt.Sprintf("%s, and its owner is %d and the payload %d", h.Missing["idmap"], src.UID,
			h.PayloadUID), "run brig as the owner of the directory")
	}
}

// noIDMapLayer returns why a directory's mount, which is idmapped for root, cannot be a layer of an overlay, or "".
func noIDMapLayer(h *host.Host) string {
	if h.Drop && h.Missing["idmap"] == "" && !h.Kernel.AtLeast(5, 19) {
		return "an overlay of an idmapped mount, which root needs, takes Linux 5.19"
	}
	return ""
}

// cow resolves a mount whose changes go to an overlay. There is no fallback: without the overlay, the payload would
// write to the source.
func (x *mounts) cow(e *rootfs.Entry, i int, m spec.Mount) {
	h := x.host
	src := h.Sources.Of(i)
	mayOverlay(&x.sources, i, m, src)
	e.Kind, e.Attr, e.Mode = rootfs.COW, attrRead, src.Mode&0o1777
	e.Source = x.source(host.SourceOf(i), m.Target, e.Attr, false)
	e.Upper, x.layers.sent = x.layers.upper(&x.sources, i, m), append(x.layers.sent, i)
	e.Size, e.Inodes = int64(m.Size), m.Inodes
	for _, p := range h.Protected {
		if p.Mount == i && p.Absent && !h.HoldsStore(p.Path) {
			e.Ghosts = append(e.Ghosts, rootfs.Ghost{Path: strings.TrimPrefix(p.Target, m.Target+"/"), Text: p.Text})
		}
	}
	if !h.Drop && (src.UID != h.UID || src.GID != h.GID) {
		x.out.note(words.Plain(fmt.Sprintf("%s belongs to %d:%d: the payload, which is %d:%d to it, can change no file "+
			"of another owner or group there (EOVERFLOW)", words.Quote(m.Target), src.UID, src.GID, h.UID, h.GID)))
	}
}

// passUppers sends the upper directories that the tree has just made.
func passUppers(p *program.Program, tree *rootfs.Tree) {
	for _, fd := range tree.Uppers() {
		ops.PassTagged(p, "cow", fd, ops.TagUpper, "[upper directory]")
	}
}
