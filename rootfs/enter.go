package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Enter makes the tree the root and detaches the host's. pivot_root(".", ".") alone would be unsafe: a symbolic link in
// an image or a shared directory can lead a mount onto the root itself ("proc -> .."); umount2(".") would then detach
// that mount and leave the host's tree at "/..". Therefore the host's root is moved to a directory of the staging
// tmpfs, to which only brig writes.
//
// A prepared tree remains beneath the jail's root, and staging beneath an image. Neither contains anything that a jail
// must not see, umount2(2) would wait for the kernel (RCU, up to milliseconds), and access below a mount needs
// capabilities that suffice to undo every mount. After chroot(2), the kernel treats a mount on top of the namespace's
// root as the root of the namespace, so a user namespace can be made there.
func (t *Tree) Enter() {
	b := &t.b
	b.label = "pivot"
	if b.spec.Over {
		// with a mount over a part of this procfs, a user namespace of the payload cannot mount a complete one
		b.bind("/"+emptyDir, "/proc/sys")
		b.Add(b.label, unix.SYS_FCHDIR, b.staging.Arg())
		b.Add(b.label, unix.SYS_CHROOT, program.Str("."))
		return
	}
	b.enter(b.staging.Arg())
}

// putOld is the directory for the host's root before it is detached: pivot_root(2).
const putOld = ".put_old"

func (w *writer) enter(staging program.Arg) {
	w.Add(w.label, unix.SYS_FCHDIR, staging)
	w.Add(w.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(putOld), octal(0o700))
	w.Add(w.label, unix.SYS_PIVOT_ROOT, program.Str("."), program.Str(putOld))
	w.Add(w.label, unix.SYS_UMOUNT2, program.Str(putOld), detach())
	w.Add(w.label, unix.SYS_UNLINKAT, program.CWD(), program.Str(putOld), program.Named(unix.AT_REMOVEDIR, "AT_REMOVEDIR"))
}

// Seal makes the root read-only and closes its descriptor.
func (t *Tree) Seal() {
	b := &t.b
	b.label = "pivot"
	if b.spec.Image != nil {
		b.Program.Close(b.label, b.staging)
		b.Add(b.label, unix.SYS_MOVE_MOUNT, b.root.Arg(), program.Str(""), program.CWD(), program.Str("/"), fromEmpty())
		b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
		b.Add(b.label, unix.SYS_CHROOT, program.Str("."))
	}
	b.Add(b.label, unix.SYS_CHDIR, program.Str("/"))
	if b.spec.Image == nil || !b.spec.Image.Writable {
		b.setattr(program.CWD(), "/", rdonly|nosuid|nodev, 0)
	}
	b.Program.Close(b.label, b.root)
}
