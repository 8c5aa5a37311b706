package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// VolumeStore mounts a tmpfs to attach volumes to, over /proc of a process in a mount namespace of its own, which needs
// procfs no more. It returns the slot of its descriptor.
func VolumeStore(p *program.Program, label string) program.Slot {
	b := &builder{Program: p, label: label}
	b.Add(label, unix.SYS_MOUNT, program.Named(0, "NULL"), program.Str("/"), program.Named(0, "NULL"),
		program.Named(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), program.Named(0, "NULL"))
	m := b.newTmpfs(1<<20, 1<<16, 0o700, nosuid|nodev|noexec)
	b.Add(label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), program.CWD(), program.Str("/proc"), fromEmpty())
	return m
}

// Volume makes a tmpfs of so many bytes and files, with directories in it, and attaches it by its name in the store. It
// has to be attached somewhere: the kernel clones a mount that is in no namespace since Linux 6.15 only.
func Volume(p *program.Program, label string, store program.Slot, name string, size, inodes int64,
	dirs []string) program.Slot {
	b := &builder{Program: p, label: label}
	m := b.newTmpfs(size, inodes, 0o755, nosuid|nodev)
	for _, d := range dirs {
		b.Add(label, unix.SYS_MKDIRAT, m.Arg(), program.Str(d), octal(0o755))
	}
	b.Add(label, unix.SYS_MKDIRAT, store.Arg(), program.Str(name), octal(0o700))
	b.Add(label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), store.Arg(), program.Str(name), fromEmpty())
	return m
}

// VolumeTree clones the mount of a volume at one of its directories (open_tree(2)) with attributes.
func VolumeTree(p *program.Program, label string, root program.Slot, dir string, attr uint64) program.Slot {
	b := &builder{Program: p, label: label}
	t := b.Open(label, unix.SYS_OPEN_TREE, root.Arg(), program.Str(dir), clone(unix.AT_SYMLINK_NOFOLLOW,
		"|AT_SYMLINK_NOFOLLOW"))
	b.setattr(t.Arg(), "", attr, unix.AT_EMPTY_PATH)
	return t
}

// DropVolume detaches a volume from the store: it is gone with the last jail that shows it and the last descriptor of
// it.
func DropVolume(p *program.Program, label string, store program.Slot, name string) {
	p.Add(label, unix.SYS_FCHDIR, store.Arg())
	p.Add(label, unix.SYS_UMOUNT2, program.Str(name), program.Named(unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW,
		"MNT_DETACH|UMOUNT_NOFOLLOW"))
	p.Add(label, unix.SYS_UNLINKAT, store.Arg(), program.Str(name), program.Named(unix.AT_REMOVEDIR, "AT_REMOVEDIR"))
}
