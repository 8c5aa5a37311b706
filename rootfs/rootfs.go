// Package rootfs converts the description of a jail's file tree to the system calls that build it. It reads and
// performs nothing: it only appends to a program.
//
// The tree is built below the working directory of the jail's first process, while the host's tree is still reachable
// by absolute paths, and then becomes the root by pivot_root(2):
//
//	staging (tmpfs, mounted over "/")
//	    /dev, /proc and its masks, system directories, /etc
//	    for an image: an overlay on staging/{lower,upper,work}, to which /dev and /proc move
//	    the caller's mounts in order
//	pivot_root(".", ".put_old"), umount2(".put_old", MNT_DETACH), for an image chroot("."), read-only
//
// Every mount point is opened by openat2(2) with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS relative to the descriptor
// of the new root, and mounts are attached to its descriptor: no symbolic link of a payload, an image or a shared
// directory leads outside.
package rootfs

import (
	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Source is a file or directory of the host to mount.
type Source struct {
	Path     string // absolute path of the host
	Dev, Ino uint64 // as the keeper saw them; 0 for the system's own files, which are not checked
	FD       program.Slot
	Passed   bool // FD holds a detached mount that the keeper has made (open_tree(2)), with its attributes set
	Mounted  bool // Path is a mount in the namespace that the jail copies, and can be a layer without another mount
	Dir      bool
	Root     bool // the host's root, which must be cloned before another root is mounted over it
}

// Kind is the kind of an Entry.
type Kind int

// The kinds of entries.
const (
	Bind    Kind = iota // a mount of Source
	Overlay             // a private read-only overlay of the directory Source (overlayfs)
	// the same, mounted over Source itself in the old tree: bind mounts from there are of the overlay
	Cover
	// a writable overlay of the directory Source, whose upper directory, of Mode, is in a tmpfs(5) of Size bytes and
	// Inodes files, or in the directory Upper
	COW
	Tmpfs   // a tmpfs(5) of Size bytes and Inodes files
	Scratch // a writable directory of the staging tmpfs
	Dir     // a directory
	Symlink // a link with Text
	File    // a file with Text as its content
	Copy    // a file with the content of the system's file Source, at most Size bytes
	// Root.Image becomes the root. Proc, Mask and Sealed come before it and before any other entry whose content others
	// may have chosen, since their targets are looked up as plain paths.
	ImageTree
	Proc   // procfs (proc(5)), if Root.Proc is none
	Devpts // a private devpts
	Mask   // an unreadable target: covered by an empty file or directory
	Sealed // the target itself made read-only
	Pin    // the target, a directory, mounted on itself, so that it cannot be renamed or removed (rename(2) EBUSY)
	Held   // the same for a target that exists, of any type, with Attr for everything mounted there
	Points // an overlay of the target, a directory of the root, that has the files and directories Names, too
)

// Entry is one file or mount in the tree. Target is relative to the root, without a leading slash.
type Entry struct {
	Kind         Kind
	Label        string // the step's label; "" means "rootfs"
	Target       string
	Source       Source
	Ghosts       []Ghost  // COW: what stands for absent paths
	Upper        *Source  // COW: a directory of the host with the directories "upper" and "work"; nil for a tmpfs
	Names        []string // Points: relative to the target; one that ends with a slash is a directory
	Text         string
	Size, Inodes int64 // for Devpts, Inodes is the number of terminals
	Mode         uint32
	Attr         uint64 // MOUNT_ATTR_* of a mount
	SourceIsDir  bool   // Mask: the target is a directory
	NoLinks      bool   // no symbolic link on the way to the target: others could replace it
	Guarded      bool   // from this entry on, others may have put symbolic links into the tree
}

// Ghost stands for an absent path of a COW: an empty socket, or a file with Text. It is in a layer of its own.
type Ghost struct{ Path, Text string }

// Image is a root provided by the caller.
type Image struct {
	Source   Source
	Carried  []string // the mounts made before it that move to the same places in it
	Overlay  bool     // a layer of the jail's own, in which missing mount points are made
	Complete bool     // no mount point is missing, so that the layer need not be writable
	Writable bool     // the payload may write to it
	Upper    *Source  // the layer, as Entry.Upper; nil for a part of the staging tmpfs
	Keep     bool     // Tree.Uppers returns its upper directory
	// Tops are the entries of its top directory to show in a directory of the jail's own, in which missing mount points
	// are made, where Overlay is not set. If there are none, the image itself becomes the root.
	Tops []Top
}

// Top is an entry of the top directory of a tree.
type Top struct {
	Name string `json:"name"`
	Link string `json:"link,omitempty"` // the text of a symbolic link
	Dir  bool   `json:"dir,omitempty"`
}

// Root describes the whole tree.
type Root struct {
	Size, Inodes int64 // of the staging tmpfs, which also holds a writable root's changes in memory
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
	treeFD  = 262    // of Hold
	fdUpper = treeFD // closed again before any other use
)

// FirstDisk is the first of the fixed descriptor numbers at which the tmpfs mounts that the payload can fill stay open
// for init. MaxDisks is the number of such mounts.
const (
	FirstDisk = 264
	MaxDisks  = 8
)

// shared returns the payload's paths that are in the staging tmpfs.
func (r *Root) shared() (targets []string) {
	if r.Image != nil && r.Image.Writable && r.Image.Upper == nil {
		targets = []string{"/"}
	}
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == Scratch {
			targets = append(targets, "/"+e.Target)
		}
	}
	return targets
}
