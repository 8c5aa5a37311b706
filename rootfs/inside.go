package rootfs

import (
	"encoding/binary"
	"path"
	"strings"
	"unsafe"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// inside makes and opens paths of a new root, and attaches mounts there.
type inside struct {
	writer
	root program.Slot // the new root
	// staging is the tmpfs that contains root, or root itself
	staging program.Slot
	made    map[string]bool // directories that this program has created
	procIs  string          // where procfs is mounted
	// ours means that this program has made everything in the new root so far, so that its paths have no foreign
	// symbolic links and need no guarded lookup. It ends with the first Guarded entry.
	ours    bool
	noLinks bool // of the current entry
}

// at opens a path of the new root with openat2(2): the lookup cannot leave the root by a symbolic link, "..", or
// procfs.
func (n *inside) at(p string, flags uint64, mode uint32) program.Slot {
	how := make([]byte, int(unsafe.Sizeof(unix.OpenHow{})))
	binary.NativeEndian.PutUint64(how, flags|unix.O_CLOEXEC)
	binary.NativeEndian.PutUint64(how[8:], uint64(mode))
	binary.NativeEndian.PutUint64(how[16:], resolve)
	if n.noLinks {
		binary.NativeEndian.PutUint64(how[16:], resolve|unix.RESOLVE_NO_SYMLINKS)
	}
	if p == "" {
		p = "."
	}
	return n.Open(n.label, unix.SYS_OPENAT2, n.root.Arg(), program.Str(p),
		program.Struct(how, showHow), program.Int(len(how)))
}

// parents makes the directories above p that do not exist. A component that is a symbolic link is followed inside the
// root, so /var/run -> /run works.
func (n *inside) parents(p string) {
	if dir := path.Dir(p); dir != "." {
		n.mkdir(dir, 0o755)
	}
}

func (n *inside) mkdir(p string, mode uint32) {
	if p == "." || n.made[p] {
		return
	}
	n.parents(p)
	n.made[p] = true
	dir, name := path.Split(p)
	if dir == "" || n.ours {
		n.Add(n.label, unix.SYS_MKDIRAT, n.root.Arg(), program.Str(p), octal(mode)).May(unix.EEXIST)
		return
	}
	fd := n.at(path.Clean(dir), unix.O_PATH, 0)
	n.Add(n.label, unix.SYS_MKDIRAT, fd.Arg(), program.Str(name), octal(mode)).May(unix.EEXIST)
	n.Program.Close(n.label, fd)
}

// point creates a mount point of the right kind if it is missing, and opens it.
func (n *inside) point(p string, dir bool) program.Slot {
	if dir {
		n.mkdir(p, 0o755)
	} else {
		n.parents(p)
		fd := n.at(path.Dir(p), unix.O_PATH, 0)
		n.Add(n.label, unix.SYS_MKNODAT, fd.Arg(), program.Str(path.Base(p)), regular(), program.Int(0)).May(unix.EEXIST)
		n.Program.Close(n.label, fd)
	}
	return n.at(p, unix.O_PATH, 0)
}

// make creates a mount point in a tree built by brig if it is missing. The entries of procfs exist already.
func (n *inside) make(p string, dir bool) {
	switch {
	case n.procIs != "" && strings.HasPrefix(p, n.procIs+"/"):
	case dir:
		n.mkdir(p, 0o755)
	default:
		n.parents(p)
		n.Add(n.label, unix.SYS_MKNODAT, n.root.Arg(), program.Str(p), regular(), program.Int(0)).May(unix.EEXIST)
	}
}

// attach attaches a detached mount at a path of the new root.
func (n *inside) attach(m program.Slot, p string, dir bool) {
	if n.ours {
		n.make(p, dir)
		n.Add(n.label, unix.SYS_MOVE_MOUNT, m.Arg(), program.Str(""), n.root.Arg(), program.Str(p), fromEmpty())
		return
	}
	t := n.point(p, dir)
	n.attachTo(m, t)
	n.Program.Close(n.label, t)
}

// cover mounts a target on itself, with attributes for it and for all mounts below it.
func (n *inside) cover(target string, flags, attr uint64) {
	at := n.at(target, flags, 0)
	t := n.Open(n.label, unix.SYS_OPEN_TREE, at.Arg(), program.Str(""), cloneAll())
	if attr != 0 {
		n.setattr(t.Arg(), "", attr, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	}
	n.attachTo(t, at)
	n.Program.Close(n.label, t)
	n.Program.Close(n.label, at)
}
