package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Enter makes the tree the root and drops the host's. pivot_root(".", ".") alone would not do: a symbolic link in an
// image or a shared directory can lead a mount onto the root itself ("proc -> .."), and umount2(".") then takes that
// one away and leaves the host's tree at "/..". So the host's root goes to a directory of the staging tmpfs, which only
// brig writes to. After a second pivot, from staging to an image, nothing of the host is left.
//
// A prepared tree stays, beneath the jail's root: it holds nothing that a jail may not see, umount2(2) would wait for
// the kernel (RCU, up to milliseconds), and to get below a mount takes capabilities with which every mount could be
// undone. chroot(2) on top of the namespace's root is the namespace's root to the kernel: a user namespace can be made
// there.
func (t *Tree) Enter() {
	b := &t.b
	b.label = "pivot"
	if b.spec.Over {
		// a procfs with a mount over a part of it does not let a user namespace of the payload's mount a whole one
		b.bind("/"+emptyDir, "/proc/sys")
		b.Add(b.label, unix.SYS_FCHDIR, b.staging.Arg())
		b.Add(b.label, unix.SYS_CHROOT, program.Str("."))
		return
	}
	b.enter(b.staging.Arg())
}

func (b *builder) enter(staging program.Arg) {
	b.Add(b.label, unix.SYS_FCHDIR, staging)
	b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(putOld), octal(0o700))
	b.Add(b.label, unix.SYS_PIVOT_ROOT, program.Str("."), program.Str(putOld))
	b.Add(b.label, unix.SYS_UMOUNT2, program.Str(putOld), detach())
	b.Add(b.label, unix.SYS_UNLINKAT, program.CWD(), program.Str(putOld), program.Named(unix.AT_REMOVEDIR, "AT_REMOVEDIR"))
}

// Seal makes the root read-only and lets go of it.
func (t *Tree) Seal() {
	b := &t.b
	b.label = "pivot"
	if b.spec.Image != nil {
		b.Program.Close(b.label, b.staging)
		b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
		b.Add(b.label, unix.SYS_PIVOT_ROOT, program.Str("."), program.Str("."))
		b.Add(b.label, unix.SYS_UMOUNT2, program.Str("."), detach())
	}
	b.Add(b.label, unix.SYS_CHDIR, program.Str("/"))
	if b.spec.Image == nil || !b.spec.Image.Writable {
		b.setattr(program.CWD(), "/", rdonly|nosuid|nodev, 0)
	}
	if b.procAt != "" {
		b.Program.Close(b.label, b.proc)
	}
	b.Program.Close(b.label, b.root)
}

func detach() program.Arg { return program.Named(unix.MNT_DETACH, "MNT_DETACH") }
