package rootfs

import (
	"maps"
	"slices"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Hold keeps the tree's root open at a fixed descriptor number, for Finish in another program.
func (t *Tree) Hold() {
	t.b.Add("pivot", unix.SYS_DUP3, t.b.root.Arg(), program.Int(treeFD), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	t.b.Program.Close("pivot", t.b.root)
}

// Finish is Enter and Seal for a tree kept by Hold.
func Finish(p *program.Program) {
	w := writer{p, "pivot"}
	w.enter(program.Int(treeFD))
	w.Add(w.label, unix.SYS_CHDIR, program.Str("/"))
	w.setattr(program.CWD(), "/", rdonly|nosuid|nodev, 0)
	w.Add(w.label, unix.SYS_CLOSE, program.Int(treeFD))
}

// ProcOn mounts a procfs on a tree kept by Hold. The process must be in the jail's pid namespace and in the tree's
// mount namespace.
func ProcOn(p *program.Program) {
	w := writer{p, "proc"}
	m := w.newMount("proc", nosuid|nodev|noexec)
	w.Add(w.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), program.Int(treeFD), program.Str("proc"), fromEmpty())
}

// MountTree clones the mounts at a source, detached, with the given attributes.
func MountTree(p *program.Program, label string, s *Source, attr uint64) program.Slot {
	w := writer{p, label}
	return w.tree(s, attr)
}

// ProcOver mounts a procfs at /proc of a prepared tree, over one of a pid namespace without processes. Overlays use it
// to refer to descriptors until the jail has entered its root.
func ProcOver(p *program.Program) {
	w := writer{p, "procfs"}
	m := w.newMount("proc", nosuid|nodev|noexec)
	w.Add(w.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), program.CWD(), program.Str("/proc"), fromEmpty())
	w.Program.Close(w.label, m)
}

// Widen grows the descriptor table for the fixed numbers while only one process uses it: the kernel grows a shared one
// only after an RCU grace period of some milliseconds. The descriptor is later replaced or closed.
func Widen(p *program.Program, some program.Slot) {
	p.Add("fds", unix.SYS_DUP3, some.Arg(), program.Int(fdEmpty), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
}

// On returns a copy of the tree that continues in another program: the suffix of the same list.
func (t *Tree) On(p *program.Program) *Tree {
	c := &Tree{t.b}
	c.b.Program, c.b.made, c.b.disks, c.b.uppers = p, maps.Clone(t.b.made), slices.Clone(t.b.disks), nil
	return c
}
