package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// builder makes the tree of a Root: what its entries have in common.
type builder struct {
	inside
	spec   *Root
	empty  bool       // fdEmpty is open
	masked [2]string  // an existing mask of a file and one of a directory, to be mounted again
	disks  [][]string // nil: not requested
	uppers []program.Slot
}

// keepDisk keeps a tmpfs open for init.
func (b *builder) keepDisk(m program.Slot, targets ...string) {
	if n := len(b.disks); b.disks != nil && len(targets) > 0 && n < MaxDisks {
		b.Add(b.label, unix.SYS_DUP3, m.Arg(), program.Int(FirstDisk+n), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
		b.disks = append(b.disks, targets)
	}
}

// brief reports whether mountAt is sufficient.
func (b *builder) brief() bool { return b.ours && b.spec.Over }

// stage makes the root: a tmpfs over "/". The host's tree stays reachable, because the lookup of an absolute path
// starts at the process's root and ignores a mount on top of it.
func (b *builder) stage() {
	r := b.spec
	if b.brief() { // the lookup of "." ignores a mount on top of it, but that of ".." does not
		b.mountAt("tmpfs", "/", nosuid|nodev, tmpfsOptions(r.Size, r.Inodes, 0o755)...)
		b.root = b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str("/.."), oPath(unix.O_DIRECTORY), program.Int(0))
	} else {
		b.root = b.newTmpfs(r.Size, r.Inodes, 0o755, nosuid|nodev)
	}
	b.staging = b.root
	b.keepDisk(b.staging, r.shared()...)
	if !b.brief() {
		b.Add(b.label, unix.SYS_MOVE_MOUNT, b.root.Arg(), program.Str(""), program.CWD(), program.Str("/"), fromEmpty())
	}
	b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
}

// takeSources clones the caller's sources before any of them is covered: afterwards paths at, below or above a cover
// lead elsewhere.
func (b *builder) takeSources() {
	cover := b.label
	for i := range b.spec.Own {
		if e := &b.spec.Own[i]; e.Source.Ino != 0 && !e.Source.Passed {
			b.label = e.Label
			e.Source.FD, e.Source.Passed = b.tree(&e.Source, e.Attr), true
		}
	}
	b.label = cover
}

// fresh mounts a new file system at a target.
func (b *builder) fresh(fstype, target string, attr uint64, options ...[2]string) {
	if b.brief() {
		b.make(target, true)
		b.mountAt(fstype, target, attr, options...)
		return
	}
	b.mounted(b.newMount(fstype, attr, options...), target)
}

func (b *builder) mounted(m program.Slot, target string) {
	b.attach(m, target, true)
	b.Program.Close(b.label, m)
}

const emptyDir = "var/empty"

// openEmpty opens an empty directory at a fixed number, as the second lower layer of overlays. It must not be removed:
// readdir(3) of a removed directory, and of the overlay, returns ENOENT.
func (b *builder) openEmpty() {
	if b.empty {
		return
	}
	b.empty = true
	b.mkdir(emptyDir, 0o555)
	b.keepEmpty(b.at(emptyDir, unix.O_PATH, 0))
}

func (b *builder) keepEmpty(fd program.Slot) {
	b.Add(b.label, unix.SYS_DUP3, fd.Arg(), program.Int(fdEmpty), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	b.Program.Close(b.label, fd)
}
