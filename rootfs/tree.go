package rootfs

import (
	"slices"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Tree is a root under construction. The steps are Begin, Add, Enter and Seal. Add can also follow Enter, for entries
// that need nothing of the host's tree.
type Tree struct{ b builder }

// Begin appends the operations that begin the tree. The entries in Root, which Add adds later, determine what is
// prepared.
func Begin(p *program.Program, r *Root) *Tree {
	t := &Tree{builder{spec: r, inside: inside{writer: writer{p, "rootfs"}, made: map[string]bool{"": true}, ours: true}}}
	b := &t.b
	if r.Watched {
		b.disks = [][]string{}
	}
	if !r.Over { // the launcher's mounts are private, and so are copies of them
		b.Add("mount", unix.SYS_MOUNT, program.Str(""), program.Str("/"), program.Str(""),
			program.Named(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), program.Int(0))
	}
	if slices.ContainsFunc(r.Own, func(e Entry) bool { return e.Source.Root }) {
		b.takeSources()
	}
	b.Add("mount", unix.SYS_UMASK, program.Int(0)) // the modes below are exact
	b.stage()
	lower := func(e Entry) bool { return e.Kind == Cover || e.Kind == Overlay && !e.Source.Mounted }
	if r.Later || r.Image != nil || slices.ContainsFunc(r.Entries, lower) || slices.ContainsFunc(r.Own, lower) {
		b.openEmpty() // now, since a mount of the caller may cover its place
	}
	return t
}

// Add appends the operations for entries, in order.
func (t *Tree) Add(entries []Entry) {
	b := &t.b
	for i := range entries {
		e := &entries[i]
		if b.label = e.Label; b.label == "" {
			b.label = "rootfs"
		}
		b.ours, b.noLinks = b.ours && !e.Guarded, e.NoLinks
		b.entry(e)
	}
}

// Uppers returns the upper directories that Begin or Add have opened since the last call. The caller closes them.
func (t *Tree) Uppers() (list []program.Slot) {
	list, t.b.uppers = t.b.uppers, nil
	return list
}

// Disks returns the targets of each tmpfs that stays open from FirstDisk on.
func (t *Tree) Disks() [][]string { return t.b.disks }
