// Package rootfs converts the description of a jail's file tree to the system calls that build it. It reads and
// performs nothing: it only appends to a program.
//
// The tree is built below the working directory of the jail's first process, while the host's tree is still reachable
// by absolute paths, and then becomes the root by pivot_root(2):
//
//	staging (tmpfs, mounted over "/") = the root, or: staging/{lower,upper,work} and the root an overlay on them
//	    system directories, /etc, /dev, /proc and its masks, the caller's mounts in order
//	pivot_root(".", ".put_old"), umount2(".put_old", MNT_DETACH), for an image pivot_root(".", "."), read-only
//
// Every mount point is opened by openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS relative to the descriptor
// of the new root, and mounts are attached to its descriptor: no symbolic link of a payload, an image or a shared
// directory leads outside.
package rootfs

import (
	"slices"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Source is a file or directory of the host to mount.
type Source struct {
	Path     string // absolute path of the host
	Dev, Ino uint64 // as the keeper saw them; 0 for the system's own files, which are not checked
	FD       program.Slot
	Passed   bool // FD holds a detached mount that the keeper has made (open_tree(2)), with its attributes set
	Mounted  bool // Path is a mount in the namespace that the jail's is copied from: as a layer it needs no other mount
	Dir      bool
	Root     bool // the host's root, which must be cloned before the jail's is mounted over it
}

// Kind is the kind of an Entry.
type Kind int

// The kinds of entries.
const (
	Bind    Kind = iota // a mount of Source
	Overlay             // a private read-only overlay of the directory Source (overlayfs)
	// the same, mounted over Source itself in the old tree: bind mounts from there are of the overlay
	Cover
	Tmpfs   // a tmpfs(5) of Size bytes and Inodes files
	Scratch // a writable directory of the staging tmpfs
	Dir     // a directory
	Symlink // a link with Text
	File    // a file with Text as its content
	Copy    // a file with the content of the system's file Source, at most Size bytes
	Proc    // procfs (proc(5)), if Root.Proc is none
	Devpts  // a private devpts
	Mask    // an unreadable target: covered by an empty file or directory
	Sealed  // the target itself made read-only
	Pin     // the target mounted on itself, so that it cannot be renamed or removed (rename(2) EBUSY)
)

// Entry is one file or mount in the tree. Target is relative to the root, without a leading slash.
type Entry struct {
	Kind         Kind
	Label        string // the step's label; "" means "rootfs"
	Target       string
	Source       Source
	Text         string
	Size, Inodes int64 // for Devpts, Inodes is the number of terminals
	Mode         uint32
	Attr         uint64 // MOUNT_ATTR_* of a mount
	SourceIsDir  bool   // Mask: the target is a directory
	NoLinks      bool   // no symbolic link on the way to the target: others could replace it
	Guarded      bool   // from this entry on, others may have shaped the tree
}

// Image is a root provided by the caller.
type Image struct {
	Source   Source
	Overlay  bool // a writable layer in memory, for the creation of mount points
	Writable bool // the payload may write to it
}

// Root describes the whole tree.
type Root struct {
	Size, Inodes int64 // of the staging tmpfs, which also holds a writable root's changes
	Image        *Image
	Entries      []Entry
	Own          []Entry // the caller's entries, added later by Add: a Cover clones their sources first
	Watched      bool    // each tmpfs that the payload can fill stays open for init
	// Later announces entries that may need the empty directory.
	Later bool
	// Over means that the jail starts in a mount namespace that holds a prepared tree and nothing else of the host's.
	Over bool
	// Proc holds the jail's procfs, made by Procfs before the tree; 0 if there is none.
	Proc program.Slot
}

const (
	nosuid = unix.MOUNT_ATTR_NOSUID
	nodev  = unix.MOUNT_ATTR_NODEV
	noexec = unix.MOUNT_ATTR_NOEXEC
	rdonly = unix.MOUNT_ATTR_RDONLY
	// resolve keeps a lookup inside the new root: openat2(2), Linux 5.6.
	resolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
)

// fixed descriptor numbers, for paths that refer to a descriptor: low enough for any RLIMIT_NOFILE and higher than
// those in a request
const (
	fdLower = 260
	fdEmpty = 261
)

// FirstDisk is the first of the fixed descriptor numbers at which the tmpfs mounts that the payload can fill stay open
// for init. MaxDisks is the number of such mounts.
const (
	FirstDisk = 264
	MaxDisks  = 8
)

// putOld is the directory for the host's root before it is detached: pivot_root(2).
const putOld = ".put_old"

type builder struct {
	*program.Program
	spec *Root
	root program.Slot // the new root
	// staging is the tmpfs that contains root, or root itself
	staging program.Slot
	label   string
	made    map[string]bool // directories that this program has created
	empty   bool            // fdEmpty is open
	masked  [2]string       // an existing mask of a file and one of a directory, to be mounted again
	// proc is the jail's procfs at procAt, set if it is mounted where an image may have put links: its masks are looked
	// up from it, because a second lookup of the path may lead elsewhere by then
	proc   program.Slot
	procAt string
	procIs string // where procfs is mounted, in a tree built by brig too
	// ours means that this program made everything in the new root, so that paths need no guarded lookup. It ends with
	// the first entry that others may have shaped.
	ours    bool
	noLinks bool       // of the current entry
	disks   [][]string // nil: not requested
}

// Tree is a root under construction. The steps are Begin, Add, Enter and Seal. Add can also follow Enter, for entries
// that need nothing of the host's tree.
type Tree struct{ b builder }

// Begin appends the operations that begin the tree. The entries in Root, which Add adds later, determine what is
// prepared.
func Begin(p *program.Program, r *Root) *Tree {
	t := &Tree{builder{Program: p, spec: r, label: "rootfs", made: map[string]bool{"": true}, ours: r.Image == nil}}
	b := &t.b
	if r.Watched {
		b.disks = [][]string{}
	}
	if !r.Over { // the launcher's mounts are private, and so are copies of them
		b.Add("mount", unix.SYS_MOUNT, program.Str(""), program.Str("/"), program.Str(""),
			program.Named(unix.MS_REC|unix.MS_PRIVATE, "MS_REC|MS_PRIVATE"), program.Int(0))
	}
	if slices.ContainsFunc(r.Own, func(e Entry) bool { return e.Source.Root }) {
		b.takeSources()
	}
	b.Add("mount", unix.SYS_UMASK, program.Int(0)) // the modes below are exact
	b.stage()
	if r.Later || slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return e.Kind == Cover || e.Kind == Overlay && !e.Source.Mounted
	}) {
		b.openEmpty() // now, since a mount of the caller may cover its place
	}
	return t
}

// Add appends the operations for entries, in order.
func (t *Tree) Add(entries []Entry) {
	b := &t.b
	for i := range entries {
		e := &entries[i]
		if b.label = e.Label; b.label == "" {
			b.label = "rootfs"
		}
		b.ours, b.noLinks = b.ours && !e.Guarded, e.NoLinks
		b.entry(e)
	}
}

// Disks returns the targets of each tmpfs that stays open from FirstDisk on.
func (t *Tree) Disks() [][]string { return t.b.disks }

// keepDisk keeps a tmpfs open for init.
func (b *builder) keepDisk(m program.Slot, targets ...string) {
	if n := len(b.disks); b.disks != nil && len(targets) > 0 && n < MaxDisks {
		b.Add(b.label, unix.SYS_DUP3, m.Arg(), program.Int(FirstDisk+n), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
		b.disks = append(b.disks, targets)
	}
}

// shared returns the payload's paths that are in the staging tmpfs.
func (r *Root) shared() (targets []string) {
	if r.Image != nil && r.Image.Writable {
		targets = []string{"/"}
	}
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == Scratch {
			targets = append(targets, "/"+e.Target)
		}
	}
	return targets
}

// stage makes the root: a tmpfs over "/". It hides nothing, because the lookup of an absolute path starts at the
// process's root and ignores a mount on top of it.
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
	if r.Image == nil {
		return
	}
	b.label = "image"
	b.empty = true // beside the root, so that the image cannot affect it
	b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str("empty"), octal(0o555))
	empty := b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str("empty"), oPath(unix.O_DIRECTORY), program.Int(0))
	b.keepEmpty(empty)
	if !r.Image.Overlay {
		b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str("lower"), octal(0o755))
		tree := b.tree(&r.Image.Source, rdonly|nosuid|nodev)
		b.Add(b.label, unix.SYS_MOVE_MOUNT, tree.Arg(), program.Str(""), program.CWD(), program.Str("lower"), fromEmpty())
		b.root = tree
	} else {
		for _, d := range []string{"lower", "upper", "work", "root"} {
			b.Add(b.label, unix.SYS_MKDIRAT, program.CWD(), program.Str(d), octal(0o755))
		}
		tree := b.tree(&r.Image.Source, rdonly|nosuid|nodev)
		b.Add(b.label, unix.SYS_MOVE_MOUNT, tree.Arg(), program.Str(""), program.CWD(), program.Str("lower"), fromEmpty())
		b.Program.Close(b.label, tree)
		b.Add(b.label, unix.SYS_MOUNT, program.Str("overlay"), program.Str("root"), program.Str("overlay"),
			program.Named(unix.MS_NOSUID|unix.MS_NODEV, "MS_NOSUID|MS_NODEV"),
			program.Str("lowerdir=lower,upperdir=upper,workdir=work,userxattr"))
		b.root = b.Open(b.label, unix.SYS_OPENAT, program.CWD(), program.Str("root"), oPath(unix.O_DIRECTORY), program.Int(0))
	}
	b.Add(b.label, unix.SYS_FCHDIR, b.root.Arg())
}
