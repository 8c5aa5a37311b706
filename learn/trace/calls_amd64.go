package trace

import (
	"brig/learn"

	"golang.org/x/sys/unix"
)

const nativeArch = unix.AUDIT_ARCH_X86_64

// older adds the calls without a directory's descriptor.
func older(all map[uint64]call, at, one func(string, learn.Kind) call) {
	all[unix.SYS_NEWFSTATAT] = at("newfstatat", learn.Read)
	all[unix.SYS_OPEN] = call{name: "open", path: 1, flag: 2}
	all[unix.SYS_CREAT] = one("creat", learn.Write)
	all[unix.SYS_RENAME] = call{name: "rename", kind: learn.Write, path: 2}
	all[unix.SYS_LINK] = call{name: "link", kind: learn.Write, path: 2}
	all[unix.SYS_SYMLINK] = call{name: "symlink", kind: learn.Write, path: 2}
	for nr, name := range map[uint64]string{unix.SYS_STAT: "stat", unix.SYS_LSTAT: "lstat", unix.SYS_ACCESS: "access",
		unix.SYS_READLINK: "readlink"} {
		all[nr] = one(name, learn.Read)
	}
	for nr, name := range map[uint64]string{unix.SYS_MKDIR: "mkdir", unix.SYS_RMDIR: "rmdir", unix.SYS_UNLINK: "unlink",
		unix.SYS_MKNOD: "mknod"} {
		all[nr] = one(name, learn.Write)
	}
	all[unix.SYS_FORK] = call{name: "fork", kind: learn.Count}
	all[unix.SYS_VFORK] = call{name: "vfork", kind: learn.Count}
}
