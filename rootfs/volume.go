package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// VolumeStore mounts a tmpfs to attach volumes to, over /proc of a process in a separate mount namespace that no longer
// needs procfs. It returns the slot of its descriptor.
func VolumeStore(p *program.Program) program.Slot {
	w := writer{p, "volume"}
	w.Add(w.label, unix.SYS_MOUNT, program.Named(0, "NULL"), program.Str("/"), program.Named(0, "NULL"),
		program.Named(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), program.Named(0, "NULL"))
	m := w.newTmpfs(1<<20, 1<<16, 0o700, nosuid|nodev|noexec)
	w.Add(w.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), program.CWD(), program.Str("/proc"), fromEmpty())
	return m
}

// Volume makes a tmpfs with room for size bytes and so many files, creates directories in it, and attaches it under a
// name in the store. It must be attached, since kernels before 6.15 cannot clone a mount outside a namespace.
func Volume(p *program.Program, store program.Slot, name string, size, inodes int64, dirs []string) program.Slot {
	w := writer{p, "volume"}
	m := w.newTmpfs(size, inodes, 0o755, nosuid|nodev)
	for _, d := range dirs {
		w.Add(w.label, unix.SYS_MKDIRAT, m.Arg(), program.Str(d), octal(0o755))
	}
	w.Add(w.label, unix.SYS_MKDIRAT, store.Arg(), program.Str(name), octal(0o700))
	w.Add(w.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), store.Arg(), program.Str(name), fromEmpty())
	return m
}

// VolumeTree clones the mount of a volume at one of its directories (open_tree(2)) with attributes.
func VolumeTree(p *program.Program, root program.Slot, dir string, attr uint64) program.Slot {
	w := writer{p, "volume"}
	t := w.Open(w.label, unix.SYS_OPEN_TREE, root.Arg(), program.Str(dir), clone(unix.AT_SYMLINK_NOFOLLOW,
		"|AT_SYMLINK_NOFOLLOW"))
	w.setattr(t.Arg(), "", attr, unix.AT_EMPTY_PATH)
	return t
}

// DropVolume detaches a volume from the store. It is freed with the last jail that uses it and the last descriptor of
// it.
func DropVolume(p *program.Program, store program.Slot, name string) {
	p.Add("volume", unix.SYS_FCHDIR, store.Arg())
	p.Add("volume", unix.SYS_UMOUNT2, program.Str(name), program.Named(unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW,
		"MNT_DETACH|UMOUNT_NOFOLLOW"))
	p.Add("volume", unix.SYS_UNLINKAT, store.Arg(), program.Str(name), program.Named(unix.AT_REMOVEDIR, "AT_REMOVEDIR"))
}
