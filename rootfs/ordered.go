package rootfs

import (
	"path"
	"strconv"
	"strings"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Ordered is a root that is built in the caller's order. A step can make files in what earlier steps have mounted, and
// so on the host, if a bind of the host is writable. Every lookup stays inside the new root (openat2(2)).
//
//	staging (tmpfs, mounted over "/")
//	    newroot (a bind of itself): the root
//	    tmp-overlay-upper-N, tmp-overlay-work-N: the layers of --tmp-overlay
type Ordered struct {
	b        inside
	overlays int
	first    int            // the lowest of the descriptor numbers for paths that refer to a descriptor: Numbers of them
	roots    []program.Slot // clones of the host's root, each for one Bind
}

// Numbers is the number of descriptor numbers that an Ordered uses, from its first one on.
const Numbers = 64

// BeginOrdered appends the operations that make the empty root. first is the lowest of Numbers free descriptor numbers.
// roots is how many binds show the host's root, which has to be cloned before staging is mounted over it. Mounts of the
// host still arrive, and none of the jail's leaves: mount_namespaces(7).
func BeginOrdered(p *program.Program, first, roots int) *Ordered {
	o := &Ordered{first: first}
	o.b = inside{writer: writer{p, "root"}, made: map[string]bool{"": true}}
	b := &o.b
	b.Add(b.label, unix.SYS_MOUNT, program.Str(""), program.Str("/"), program.Str(""),
		program.Named(unix.MS_REC|unix.MS_SLAVE, "MS_REC|MS_SLAVE"), program.Int(0))
	for range roots {
		o.roots = append(o.roots, b.tree(&Source{Path: "/"}, 0))
	}
	b.staging = b.newMount("tmpfs", nosuid|nodev, [2]string{"source", "tmpfs"})
	b.Add(b.label, unix.SYS_MOVE_MOUNT, b.staging.Arg(), program.Str(""), program.CWD(), program.Str("/"), fromEmpty())
	b.Add(b.label, unix.SYS_MKDIRAT, b.staging.Arg(), program.Str(newRoot), octal(0o755))
	b.root = b.Open(b.label, unix.SYS_OPEN_TREE, b.staging.Arg(), program.Str(newRoot), clone(0, ""))
	b.Add(b.label, unix.SYS_MOVE_MOUNT, b.root.Arg(), program.Str(""), b.staging.Arg(), program.Str(newRoot), fromEmpty())
	return o
}

const newRoot = "newroot"

// Label sets the label of the operations that follow.
func (o *Ordered) Label(label string) { o.b.label = label }

// Parents makes the directories above a target.
func (o *Ordered) Parents(target string, mode uint32) {
	if dir := path.Dir(target); dir != "." {
		o.Dir(dir, mode)
	}
}

// Dir makes a directory unless the target exists. Directories above it get the same mode.
func (o *Ordered) Dir(target string, mode uint32) {
	for i := 0; i <= len(target); i++ {
		if i == len(target) || target[i] == '/' {
			o.b.mkdir(target[:i], mode)
		}
	}
}

// IsDir lets the program fail where a target is no directory. A symbolic link that leads nowhere passes, as mkdir(2) of
// its name has. A lookup that fails leaves its slot as it was: there the root's descriptor was, whose number is closed
// and the one that a lookup gets.
func (o *Ordered) IsDir(target string) {
	b := &o.b
	last := func() *program.Op { return &b.Ops[len(b.Ops)-1] }
	b.Program.Close(b.label, b.at("", unix.O_PATH, 0))
	fd := b.at(target, unix.O_PATH|unix.O_DIRECTORY, 0)
	last().May(unix.ENOENT, unix.ELOOP)
	b.Program.Close(b.label, fd)
	last().May(unix.EBADF)
}

// mount attaches a detached mount to a target, which is made if it is missing.
func (o *Ordered) mount(m program.Slot, target string, dir bool) {
	b := &o.b
	at := b.point(target, dir)
	b.attachTo(m, at)
	b.Program.Close(b.label, at)
	b.Program.Close(b.label, m)
	b.made = map[string]bool{"": true} // what was made may be below the mount
	if target == "" {
		o.reopen()
	}
}

// reopen opens the root again, so that lookups begin at the mount that now covers it.
func (o *Ordered) reopen() {
	b := &o.b
	b.Program.Close(b.label, b.root)
	b.root = b.Open(b.label, unix.SYS_OPENAT, b.staging.Arg(), program.Str(newRoot), oPath(unix.O_DIRECTORY),
		program.Int(0))
}

// Bind mounts a source and all below it.
func (o *Ordered) Bind(s *Source, target string, attr uint64) {
	if s.Root {
		m := o.roots[0]
		o.roots = o.roots[1:]
		o.b.setattr(m.Arg(), "", attr, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
		o.mount(m, target, true)
		return
	}
	o.mount(o.b.tree(s, attr), target, s.Dir)
}

// Fresh mounts a new file system. An option without a value is a flag.
func (o *Ordered) Fresh(fstype, target string, attr uint64, options ...[2]string) {
	o.mount(o.b.newMount(fstype, attr, append([][2]string{{"source", fstype}}, options...)...), target, true)
}

// Cover makes a path read-only by a bind of itself.
func (o *Ordered) Cover(target string) { o.b.cover(target, unix.O_PATH, rdonly|nosuid|nodev) }

// ReadOnly makes the mount at a target read-only, and none below it.
func (o *Ordered) ReadOnly(target string) {
	b := &o.b
	at := b.at(target, unix.O_PATH, 0)
	b.setattr(at.Arg(), "", rdonly|nosuid|nodev, unix.AT_EMPTY_PATH)
	b.Program.Close(b.label, at)
}

// Chmod changes the mode of what is at a target.
func (o *Ordered) Chmod(target string, mode uint32) {
	b := &o.b
	o.number(0, b.at(target, unix.O_PATH, 0))
	b.Add(b.label, unix.SYS_FCHMODAT, program.CWD(), program.Str("/proc/self/fd/"+strconv.Itoa(o.first)), octal(mode))
}

// number moves a descriptor to a number of this tree's, for a path that refers to it.
func (o *Ordered) number(n int, fd program.Slot) string {
	o.b.Add(o.b.label, unix.SYS_DUP3, fd.Arg(), program.Int(o.first+n), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	o.b.Program.Close(o.b.label, fd)
	return strconv.Itoa(o.first + n)
}

// Symlink makes a symbolic link. With exists one with this text may be there.
func (o *Ordered) Symlink(text, target string, exists bool) {
	b := &o.b
	fd := b.at(path.Dir(target), unix.O_PATH, 0)
	op := b.Add(b.label, unix.SYS_SYMLINKAT, program.Str(text), fd.Arg(), program.Str(path.Base(target)))
	if exists {
		op.May(unix.EEXIST)
	}
	b.Program.Close(b.label, fd)
}

// File writes a file at a target.
func (o *Ordered) File(data []byte, target string, mode uint32) {
	b := &o.b
	fd := b.at(target, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, mode)
	o.fill(fd, data)
}

func (o *Ordered) fill(fd program.Slot, data []byte) {
	if len(data) > 0 {
		o.b.Add(o.b.label, unix.SYS_WRITE, fd.Arg(), program.Bytes(data), program.Int(len(data)))
	}
	o.b.Program.Close(o.b.label, fd)
}

// Data mounts a file with the data, which nothing else refers to, on a target.
func (o *Ordered) Data(data []byte, target string, mode uint32, attr uint64) {
	const name = "bindfile"
	b := &o.b
	fd := b.Open(b.label, unix.SYS_OPENAT, b.staging.Arg(), program.Str(name),
		program.Named(unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, "O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC"),
		octal(mode))
	o.fill(fd, data)
	t := b.Open(b.label, unix.SYS_OPEN_TREE, b.staging.Arg(), program.Str(name), clone(0, ""))
	b.setattr(t.Arg(), "", attr, unix.AT_EMPTY_PATH)
	o.mount(t, target, false)
	b.Add(b.label, unix.SYS_UNLINKAT, b.staging.Arg(), program.Str(name), program.Int(0)) // it persists as a mount
}

// Layers are those of an overlay: directories of the host, the topmost first. An overlay without an upper directory is
// read-only, or has one in memory (Memory).
type Layers struct {
	Lower       []string
	Upper, Work string
	Memory      bool
}

// MaxLayers is how many lower layers an overlay can have: fsconfig(2) takes 255 bytes.
const MaxLayers = Numbers - 4

// Overlay mounts an overlay. Its options name descriptors relative to the working directory, so that no path has to be
// escaped or appears in the jail's mount table.
func (o *Ordered) Overlay(l *Layers, target string) {
	b := &o.b
	b.Add(b.label, unix.SYS_CHDIR, program.Str("/proc/self/fd"))
	used := 0
	layer := func(dir program.Arg, p string) string {
		fd := b.Open(b.label, unix.SYS_OPENAT, dir, program.Str(p), oPath(unix.O_DIRECTORY), program.Int(0))
		used++
		return o.number(used-1, fd)
	}
	var options [][2]string
	if l.Memory {
		n := strconv.Itoa(o.overlays)
		o.overlays++
		for _, part := range []string{"upper", "work"} {
			name := "tmp-overlay-" + part + "-" + n
			b.Add(b.label, unix.SYS_MKDIRAT, b.staging.Arg(), program.Str(name), octal(0o755))
			options = append(options, [2]string{part + "dir", layer(b.staging.Arg(), name)})
		}
	} else if l.Upper != "" {
		options = append(options, [2]string{"upperdir", layer(program.CWD(), l.Upper)},
			[2]string{"workdir", layer(program.CWD(), l.Work)})
	}
	var lower []string
	for _, p := range l.Lower {
		lower = append(lower, layer(program.CWD(), p))
	}
	options = append(options, [2]string{"lowerdir", strings.Join(lower, ":")}, [2]string{"userxattr", ""})
	o.Fresh("overlay", target, 0, options...)
	o.closeNumbers(used)
	b.Add(b.label, unix.SYS_CHDIR, program.Str("/"))
}

func (o *Ordered) closeNumbers(n int) {
	o.b.Add(o.b.label, unix.SYS_CLOSE_RANGE, program.Int(o.first), program.Int(o.first+n-1), program.Int(0))
}

// Enter makes the tree the root and detaches the host's, by pivot_root(2) with the same directory for both roots. It
// detaches staging, which covers the old root, and then the old root by its descriptor.
func (o *Ordered) Enter() {
	b := &o.b
	b.label = "pivot"
	o.reopen() // a symbolic link may have led a mount to it
	old := b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str("/"), oPath(unix.O_DIRECTORY), program.Int(0))
	b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
	b.Add(b.label, unix.SYS_PIVOT_ROOT, program.Str("."), program.Str("."))
	b.Add(b.label, unix.SYS_FCHDIR, old.Arg())
	b.Add(b.label, unix.SYS_UMOUNT2, program.Str("."), detach())
	b.Add(b.label, unix.SYS_UMOUNT2, program.Str("."), detach()).May(unix.EINVAL) // the first has detached both
	b.Add(b.label, unix.SYS_CHDIR, program.Str("/"))
	for _, fd := range []program.Slot{old, b.root, b.staging} {
		b.Program.Close(b.label, fd)
	}
}
