package rootfs

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

func (b *builder) entry(e *Entry) {
	switch e.Kind {
	case Bind:
		if s := &e.Source; b.ours && !s.Passed && s.Ino == 0 && e.Attr == 0 { // a device, or below a Cover
			b.make(e.Target, s.Dir)
			b.bind(s.Path, e.Target)
			return
		}
		t := b.tree(&e.Source, e.Attr)
		b.attach(t, e.Target, e.Source.Dir)
		b.Program.Close(b.label, t)
	case Overlay:
		b.overlay(e)
	case COW:
		b.cow(e)
	case Cover:
		b.takeSources()
		if e.Source.Mounted {
			b.mountAt("overlay", e.Source.Path, e.Attr, [2]string{"lowerdir", e.Source.Path + ":/" + emptyDir},
				[2]string{"userxattr", ""})
			return
		}
		m := b.newMount("overlay", e.Attr, [2]string{"lowerdir", fmt.Sprintf("%s:/proc/self/fd/%d", e.Source.Path, fdEmpty)},
			[2]string{"userxattr", ""})
		b.Add(b.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), program.CWD(), program.Str(e.Source.Path), fromEmpty())
		b.Program.Close(b.label, m)
	case Tmpfs:
		b.tmpfs(e)
	case Scratch:
		b.scratch(e)
	case ImageTree:
		b.imageTree()
	case Proc:
		b.procfs(e)
	case Devpts:
		b.fresh("devpts", e.Target, nosuid|noexec, [2]string{"newinstance", ""}, [2]string{"ptmxmode", "0666"},
			[2]string{"mode", "0620"},
			[2]string{"max", strconv.FormatInt(e.Inodes, 10)})
	case Dir:
		b.dir(e)
	case Symlink:
		b.link(e)
	case File:
		b.file(e)
	case Copy:
		b.copy(e)
	case Mask:
		b.mask(e)
	case Sealed:
		b.sealed(e)
	case Pin:
		b.mkdir(e.Target, 0o755)
		b.cover(e.Target, unix.O_PATH, e.Attr)
	case Points:
		b.points(e)
	case Held: // a symbolic link is mounted like a file: it can be read and not replaced
		b.cover(e.Target, unix.O_PATH|unix.O_NOFOLLOW, e.Attr)
	}
}

func (b *builder) tmpfs(e *Entry) {
	m := b.newTmpfs(e.Size, e.Inodes, e.Mode, e.Attr)
	b.keepDisk(m, "/"+e.Target)
	b.mounted(m, e.Target)
}

// dir makes a directory, and fails if one of the caller's is to be where something else is.
func (b *builder) dir(e *Entry) {
	if b.mkdir(e.Target, e.Mode); strings.HasPrefix(e.Label, "mounts[") {
		b.Program.Close(b.label, b.at(e.Target, unix.O_PATH|unix.O_DIRECTORY, 0))
	}
}

// Procfs makes the jail's procfs, detached. It comes first, because a new process sets itself up through it and then no
// longer needs the host's.
func Procfs(p *program.Program) program.Slot {
	w := writer{p, "procfs"}
	return w.newMount("proc", nosuid|nodev|noexec)
}

// Queues opens the file system of the ipc namespace's POSIX message queues (mq_overview(7)) without showing it.
func Queues(p *program.Program, label string) program.Slot {
	w := writer{p, label}
	return w.newMount("mqueue", nosuid|nodev|noexec)
}

func (b *builder) procfs(e *Entry) {
	m := b.spec.Proc
	if m == 0 {
		m = b.newMount("proc", nosuid|nodev|noexec)
	}
	b.mounted(m, e.Target)
	b.procIs = e.Target
}

// scratch makes a writable directory of the staging tmpfs: a bind mount of a part stays writable when the mount of the
// whole becomes read-only. One tmpfs for all such directories means one size for all, and fewer mounts to make and to
// tear down.
func (b *builder) scratch(e *Entry) {
	name := e.Target
	if b.ours {
		b.mkdir(name, e.Mode)
		b.bind(name, name)
		return
	}
	name = "scratch-" + strings.ReplaceAll(name, "/", "-")
	b.Add(b.label, unix.SYS_MKDIRAT, b.staging.Arg(), program.Str(name), octal(e.Mode))
	t := b.Open(b.label, unix.SYS_OPEN_TREE, b.staging.Arg(), program.Str(name), clone(0, ""))
	b.mounted(t, e.Target)
}

// overlay mounts a private overlay of a directory: flock(2), inotify(7) and AF_UNIX sockets work on the overlay's
// inodes, so they do not reach another jail or the host. The bind mount below it stays hidden.
func (b *builder) overlay(e *Entry) {
	if e.Source.Mounted {
		b.fresh("overlay", e.Target, e.Attr, [2]string{"lowerdir", e.Source.Path + ":/" + emptyDir},
			[2]string{"userxattr", ""})
		return
	}
	t := b.tree(&e.Source, e.Attr)
	var at program.Slot
	if b.ours {
		b.attach(t, e.Target, true)
	} else { // one lookup for both: between two, the overlay could be moved off the bind mount
		at = b.point(e.Target, true)
		b.attachTo(t, at)
	}
	b.Add(b.label, unix.SYS_DUP3, t.Arg(), program.Int(fdLower), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	b.Program.Close(b.label, t)
	// an overlay without an upper layer needs two lower ones (overlayfs); a descriptor refers to the directory that was
	// checked, and keeps its path out of /proc/mounts
	m := b.newMount("overlay", e.Attr, [2]string{"lowerdir", fmt.Sprintf("/proc/self/fd/%d:/proc/self/fd/%d", fdLower,
		fdEmpty)},
		[2]string{"userxattr", ""})
	if b.ours {
		b.attach(m, e.Target, true)
	} else {
		b.attachTo(m, at)
		b.Program.Close(b.label, at)
	}
	b.Program.Close(b.label, m)
	b.Add(b.label, unix.SYS_CLOSE, program.Int(fdLower))
}

func (b *builder) link(e *Entry) {
	b.parents(e.Target)
	if b.ours {
		b.Add(b.label, unix.SYS_SYMLINKAT, program.Str(e.Text), b.root.Arg(), program.Str(e.Target))
		return
	}
	fd := b.at(path.Dir(e.Target), unix.O_PATH, 0)
	b.Add(b.label, unix.SYS_SYMLINKAT, program.Str(e.Text), fd.Arg(), program.Str(path.Base(e.Target)))
	b.Program.Close(b.label, fd)
}

// file writes a private file of at most 2 GiB with one write(2). In a tree that is not only brig's, the target may be a
// file of the host below a bind mount: the copy is mounted on it, and the file does not change.
func (b *builder) file(e *Entry) {
	if b.ours {
		b.parents(e.Target)
		fd := b.at(e.Target, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, e.Mode)
		b.Add(b.label, unix.SYS_WRITE, fd.Arg(), program.Bytes([]byte(e.Text)), program.Int(len(e.Text)))
		b.Program.Close(b.label, fd)
		return
	}
	const name = ".file" // in the staging tmpfs, until it is mounted
	fd := b.Open(b.label, unix.SYS_OPENAT, b.staging.Arg(), program.Str(name),
		program.Named(unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, "O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC"),
		octal(e.Mode))
	b.Add(b.label, unix.SYS_WRITE, fd.Arg(), program.Bytes([]byte(e.Text)), program.Int(len(e.Text)))
	b.Program.Close(b.label, fd)
	t := b.Open(b.label, unix.SYS_OPEN_TREE, b.staging.Arg(), program.Str(name), clone(0, ""))
	b.setattr(t.Arg(), "", rdonly|nosuid|nodev, unix.AT_EMPTY_PATH)
	b.attach(t, e.Target, false)
	b.Add(b.label, unix.SYS_UNLINKAT, b.staging.Arg(), program.Str(name), program.Int(0)) // it persists as a mount
	b.Program.Close(b.label, t)
}

// copy makes a private copy of a system file inside the kernel: sendfile(2).
func (b *builder) copy(e *Entry) {
	b.parents(e.Target)
	from := b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str(e.Source.Path),
		program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	to := b.at(e.Target, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, e.Mode)
	b.Add(b.label, unix.SYS_SENDFILE, to.Arg(), from.Arg(), program.Named(0, "NULL"), program.Int(e.Size))
	b.Program.Close(b.label, to)
	b.Program.Close(b.label, from)
}

// mask covers a path with an empty read-only directory, or with /dev/null. One mount of each kind has the attributes;
// the others are copies of it, which inherit them.
func (b *builder) mask(e *Entry) {
	kind, from, attr := 0, "/dev/null", uint64(rdonly|nosuid|noexec)
	if e.SourceIsDir {
		kind, from, attr = 1, emptyDir, attr|nodev
		b.mkdir(emptyDir, 0o555)
	}
	if was := b.masked[kind]; was != "" {
		b.bind(was, e.Target)
		return
	}
	b.bind(from, e.Target)
	b.setattr(program.CWD(), e.Target, attr, 0)
	b.masked[kind] = e.Target
}

// sealed makes a directory or file of the tree read-only by a bind mount of itself.
func (b *builder) sealed(e *Entry) {
	b.bind(e.Target, e.Target)
	b.setattr(b.root.Arg(), e.Target, rdonly|nosuid|nodev|noexec, 0)
}
