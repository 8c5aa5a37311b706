package rootfs

import (
	"fmt"
	"path"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// upperDir is the directory in a tmpfs, or in a directory of the host, that holds an overlay's changes. workDir is the
// one beside it in which overlayfs prepares them.
const (
	upperDir = "upper"
	workDir  = "work"
	ghostDir = "absent" // the lowest layer: what stands for absent paths, so that it is no change
)

// cow mounts a writable overlay of a directory. The layers are mounted beneath it at the same target, because kernels
// before 6.15 accept only mounts of this namespace as layers. They stay hidden: to uncover them takes umount2(2), which
// the payload is not permitted.
//
// userxattr implies redirect_dir=nofollow and metacopy=off, so each changed file is complete in the upper directory.
// index=off because the layers are mounted once; with xino=on all files have one st_dev, so that find -xdev and tar
// --one-file-system see one file system. volatile omits syncfs(2) of the host's file system at the end.
func (b *builder) cow(e *Entry) {
	lower := b.tree(&e.Source, e.Attr)
	at := b.point(e.Target, true) // one lookup for all: between two, the payload of another jail could move a directory
	b.attachTo(lower, at)
	b.Add(b.label, unix.SYS_DUP3, lower.Arg(), program.Int(fdLower), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	b.Program.Close(b.label, lower)
	var store program.Slot
	if e.Upper != nil {
		store = b.tree(e.Upper, e.Attr&^rdonly)
	} else {
		store = b.newTmpfs(e.Size, e.Inodes, 0o700, e.Attr&^rdonly)
		b.keepDisk(store, "/"+e.Target)
		b.Add(b.label, unix.SYS_MKDIRAT, store.Arg(), program.Str(upperDir), octal(e.Mode))
		b.Add(b.label, unix.SYS_MKDIRAT, store.Arg(), program.Str(workDir), octal(0o700))
	}
	b.ghosts(store, e.Ghosts)
	b.attachTo(store, at)
	b.Add(b.label, unix.SYS_DUP3, store.Arg(), program.Int(fdUpper), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	b.keepUpper(store.Arg(), upperDir)
	b.Program.Close(b.label, store)
	dir := func(fd int, name string) string { return fmt.Sprintf("/proc/self/fd/%d%s", fd, name) }
	lowerdir := dir(fdLower, "")
	if len(e.Ghosts) > 0 {
		lowerdir += ":" + dir(fdUpper, "/"+ghostDir)
	}
	m := b.newMount("overlay", e.Attr&^rdonly, [2]string{"lowerdir", lowerdir},
		[2]string{"upperdir", dir(fdUpper, "/"+upperDir)}, [2]string{"workdir", dir(fdUpper, "/"+workDir)},
		[2]string{"userxattr", ""}, [2]string{"index", "off"}, [2]string{"xino", "on"}, [2]string{"volatile", ""})
	b.attachTo(m, at)
	b.Program.Close(b.label, m)
	b.Program.Close(b.label, at)
	b.Add(b.label, unix.SYS_CLOSE, program.Int(fdLower))
	b.Add(b.label, unix.SYS_CLOSE, program.Int(fdUpper))
}

// keepUpper opens an upper directory for the keeper.
func (b *builder) keepUpper(at program.Arg, name string) {
	b.uppers = append(b.uppers, b.Open(b.label, unix.SYS_OPENAT, at, program.Str(name),
		program.Named(unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, "O_RDONLY|O_DIRECTORY|O_CLOEXEC"), program.Int(0)))
}

// ghosts makes the layer of what stands for absent paths: sockets, or files with a text, below their directories.
func (b *builder) ghosts(store program.Slot, list []Ghost) {
	made := map[string]bool{".": true}
	for _, g := range list {
		name := path.Join(ghostDir, g.Path)
		for at := range name {
			if dir := name[:at]; name[at] == '/' && !made[dir] {
				made[dir] = true
				b.Add(b.label, unix.SYS_MKDIRAT, store.Arg(), program.Str(dir), octal(0o755)).May(unix.EEXIST)
			}
		}
		if g.Text == "" {
			b.Add(b.label, unix.SYS_MKNODAT, store.Arg(), program.Str(name),
				program.Named(unix.S_IFSOCK|0o444, "S_IFSOCK|0444"), program.Int(0))
			continue
		}
		fd := b.Open(b.label, unix.SYS_OPENAT, store.Arg(), program.Str(name),
			program.Named(unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, "O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC"),
			octal(0o444))
		b.Add(b.label, unix.SYS_WRITE, fd.Arg(), program.Bytes([]byte(g.Text)), program.Int(len(g.Text)))
		b.Program.Close(b.label, fd)
	}
}
