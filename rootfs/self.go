package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// held mounts a target on itself. A symbolic link is mounted like a file: it can be read and not replaced.
func (b *builder) held(e *Entry, flags uint64) {
	at := b.at(e.Target, flags, 0)
	t := b.Open(b.label, unix.SYS_OPEN_TREE, at.Arg(), program.Str(""), cloneAll())
	if e.Attr != 0 {
		b.setattr(t.Arg(), "", e.Attr, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	}
	b.attachTo(t, at)
	b.Program.Close(b.label, t)
	b.Program.Close(b.label, at)
}

// sealed makes a directory or file of the tree read-only by a bind mount of itself.
func (b *builder) sealed(e *Entry) {
	b.bind(e.Target, e.Target)
	b.setattr(b.root.Arg(), e.Target, rdonly|nosuid|nodev|noexec, 0)
}
