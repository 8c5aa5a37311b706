package rootfs

import (
	"fmt"
	"path"
	"strings"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// points mounts an overlay of a directory on it. Its lower layer has the mount points that the directory lacks; a path
// that is in both is the directory's. The layer is in the staging tmpfs, where only brig has made paths.
func (b *builder) points(e *Entry) {
	layer := ".points-" + strings.ReplaceAll(e.Target, "/", "-")
	made := map[string]bool{}
	mkdir := func(p string) {
		if !made[p] {
			made[p] = true
			b.Add(b.label, unix.SYS_MKDIRAT, b.staging.Arg(), program.Str(p), octal(0o755))
		}
	}
	mkdir(layer)
	for _, name := range e.Names {
		at := layer
		parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
		for _, part := range parts[:len(parts)-1] {
			at = path.Join(at, part)
			mkdir(at)
		}
		if at = path.Join(at, parts[len(parts)-1]); strings.HasSuffix(name, "/") {
			mkdir(at)
		} else if !made[at] {
			made[at] = true
			b.Add(b.label, unix.SYS_MKNODAT, b.staging.Arg(), program.Str(at), regular(), program.Int(0))
		}
	}
	added := b.Open(b.label, unix.SYS_OPENAT, b.staging.Arg(), program.Str(layer), oPath(unix.O_DIRECTORY), program.Int(0))
	b.Add(b.label, unix.SYS_DUP3, added.Arg(), program.Int(fdUpper), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	b.Program.Close(b.label, added)
	at := b.at(e.Target, unix.O_PATH, 0)
	b.Add(b.label, unix.SYS_DUP3, at.Arg(), program.Int(fdLower), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	m := b.newMount("overlay", e.Attr, [2]string{"lowerdir", fmt.Sprintf("/proc/self/fd/%d:/proc/self/fd/%d", fdLower,
		fdUpper)}, [2]string{"userxattr", ""})
	b.attachTo(m, at)
	b.Program.Close(b.label, m)
	b.Program.Close(b.label, at)
	b.Add(b.label, unix.SYS_CLOSE, program.Int(fdLower))
	b.Add(b.label, unix.SYS_CLOSE, program.Int(fdUpper))
}
