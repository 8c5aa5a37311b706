// Package host reads the machine. Look returns the facts that a Spec needs of it as a Host: identity, kernel, control
// groups, mount sources, filter. It is the only reading of the machine, and it changes nothing.
package host

import (
	"brig/nsjail/spec"
	"brig/rootfs"

	"brig/cgroup"
)

// Host holds every fact of the machine that Resolve uses. Look reads it; a test can invent one. Its JSON form has the
// fields of all parts side by side.
type Host struct {
	Machine
	Caller
	Root
	Shown
	Protection
	Groups
	Filters
	// Partial lists checks that could not be completed.
	Partial []spec.Text `json:"partial,omitempty"`
}

// Machine is what the kernel and its settings permit.
type Machine struct {
	Kernel Kernel `json:"kernel"`
	// Missing maps a mechanism (see Mechanisms) to why this machine does not have it.
	Missing map[string]spec.Text `json:"missing,omitempty"`
	// ProcFiles lists the paths of Masks that exist here.
	ProcFiles []ProcFile `json:"proc_files"`
	// Landlock is the ABI of the kernel's Landlock: landlock_create_ruleset(2); 0 if there is none.
	Landlock int `json:"landlock,omitempty"`
	// Confined is set if an AppArmor profile confines the caller. It is read only if the Spec names a profile.
	Confined bool `json:"confined,omitempty"`
	// Queues is set if the kernel has POSIX message queues (mq_overview(7)). It is read only if the kernel has
	// Landlock.
	Queues bool `json:"queues,omitempty"`
	// LastCap is the highest capability that the kernel knows: capabilities(7).
	LastCap int `json:"last_cap"`
	// NoListener is the reason why init cannot listen to the payload's filter; "" if it can.
	NoListener string `json:"no_listener,omitempty"`
	// IPv6 is set if the kernel makes IPv6 sockets. It is read only if the Spec wants sockets.
	IPv6 bool `json:"ipv6,omitempty"`
}

// Caller is who makes the jail, and who its payload is on the host.
type Caller struct {
	// UID and GID are the caller's effective ids.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Drop is set if the caller is the host's root. The launcher then first becomes PayloadUID and PayloadGID.
	Drop bool `json:"drop"`
	// Kept are the capabilities that root's launcher keeps, not in effect, as a set of bits (capabilities(7)): those
	// for clone3(2) into a control group of root's, less what this root lacks in a hardened container.
	Kept uint32 `json:"kept,omitempty"`
	// PayloadUID and PayloadGID are the host ids that the payload runs as: the caller's, or, for root, ids that no user
	// has.
	PayloadUID int `json:"payload_uid"`
	PayloadGID int `json:"payload_gid"`
	// Owner is the uid of the payload of a root without CAP_SYS_ADMIN, which is the owner of a bind, or 0.
	Owner int `json:"owner,omitempty"`
	// HardLimits are the caller's hard resource limits by name; -1 is no limit.
	HardLimits map[string]int64 `json:"hard_limits"`
	// Tasks is the number of processes and threads that the payload's user has already, where they count for the limit.
	Tasks int64 `json:"tasks,omitempty"`
	// Env holds the variables that Spec.PassEnv lets through.
	Env []string `json:"-"`
	// Term is the caller's TERM.
	Term string `json:"-"`
}

// Root is what the host has for the root of a jail.
type Root struct {
	// System lists what the minimal root takes from the host's, in order.
	System []SystemDir `json:"system"`
	// NoEtcOverlay is the reason why /etc as a whole cannot be a layer of an overlay; "" if it can.
	NoEtcOverlay string `json:"no_etc_overlay,omitempty"`
	// Files are the files of /etc that a program needs and that say nothing about the host; a jail gets copies.
	Files []string `json:"files"`
	// ImageLacks lists the files of NetEtc that the Spec's root does not have.
	ImageLacks []string `json:"image_lacks,omitempty"`
	// ImageComplete means that the Spec's root has all directories and files on which the jail mounts something.
	ImageComplete bool `json:"image_complete,omitempty"`
	// ImageTops is the top directory of the Spec's root, if that lacks a mount point and can have no overlay.
	ImageTops []rootfs.Top `json:"image_tops,omitempty"`
	// CPUs are the processors that are online, as /sys/devices/system/cpu/online lists them; "" if it cannot be read.
	CPUs string `json:"cpus,omitempty"`
}

// Shown is what the payload sees of the host's files beside the root.
type Shown struct {
	// Scratch is the directory that a payload without a mount namespace has for itself. The keeper makes it.
	Scratch string `json:"scratch,omitempty"`
	// Sources are the files behind Spec.Rootfs and Spec.Mounts.
	Sources Sources `json:"sources,omitzero"`
	// Points are the mount points to be made in read-only directories.
	Points []Points `json:"points,omitempty"`
}

// Protection is what the payload cannot change in writable mounts.
type Protection struct {
	// Protected are the paths of Spec.Protect, Unprotected those that it takes back, and Ghosts the files of the host.
	Protected   []Protected `json:"protected,omitempty"`
	Unprotected []string    `json:"unprotected,omitempty"`
	Ghosts      []Ghost     `json:"-"`
	Stores      []string    `json:"-"` // brig's own directories in a writable mount, to be made before the jail is
}

// Groups is what the machine has for limits.
type Groups struct {
	// Cgroup is the layout of the control groups; nil where the Spec needs none.
	Cgroup *cgroup.Layout `json:"cgroup,omitempty"`
	// Devices are the block devices of Limits.IO, by its paths.
	Devices map[string]Device `json:"devices,omitempty"`
}

// Filters are the seccomp filters of the payload.
type Filters struct {
	// Filter is the compiled seccomp filter; nil without one. Profile is the file that it was compiled from, if it was.
	Filter  []byte `json:"-"`
	Profile []byte `json:"-"`
	// Guard is the filter beneath a profile that is not ours: see seccomp.GuardFilter. It is nil where none is needed.
	Guard []byte `json:"-"`
	// FilterFlags are the flags of seccomp(2) that the profile wants.
	FilterFlags uint `json:"filter_flags,omitempty"`
	// FilterKills is set if a profile from a file kills for some call of the native ABI.
	FilterKills bool `json:"filter_kills,omitempty"`
	// FilterNotes are the parts of the profile that the library does not know.
	FilterNotes []spec.Text `json:"filter_notes,omitempty"`
}

// Device is a block device's number.
type Device struct{ Major, Minor uint32 }

// Points are mount points that a directory of the host lacks, which the jail shows read-only. They are made in a layer
// of the jail's own over it.
type Points struct {
	// After is the number of the caller's mounts that come before: 0 for a directory of the minimal root, otherwise the
	// mount that shows the directory is the last of them.
	After int    `json:"after,omitempty"`
	Dir   string `json:"dir"` // of the jail, without the leading slash
	// Names are relative to Dir. One that ends with a slash is a directory.
	Names []string `json:"names"`
	For   int      `json:"for,omitempty"` // the first of the caller's mounts that needs them

	base string // what shows Dir
}

// ProcFile is a path of Masks.
type ProcFile struct {
	Name string `json:"name"`
	Dir  bool   `json:"dir"`
}

// Kernel is a kernel release.
type Kernel struct {
	Major, Minor int
}

// AtLeast reports whether the kernel is major.minor or newer.
func (k Kernel) AtLeast(major, minor int) bool {
	return k.Major > major || k.Major == major && k.Minor >= minor
}

// SystemDir is one entry of the host's root: a link (usr-merge) or a directory.
type SystemDir struct {
	Name string `json:"name"`           // relative to the root
	Link string `json:"link,omitempty"` // the text of a symbolic link
	// NoOverlay is the reason why the directory cannot be a layer of an overlay; "" if it can.
	NoOverlay string `json:"no_overlay,omitempty"`
}

// Source is a file or directory of the host that a mount shows. The keeper holds it open, so that its inode number is
// not given to another file.
type Source struct {
	Path     string `json:"path"` // absolute
	Dev, Ino uint64 `json:"-"`
	Dir      bool   `json:"dir"`
	Root     bool   `json:"root,omitempty"` // it is the host's root
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	Mode     uint32 `json:"mode,omitempty"` // inode(7)
	// Stays is set if Wait need not wait until the source is unmounted: it is in the root file system or in a tmpfs,
	// and nothing is mounted below it.
	Stays bool `json:"stays,omitempty"`
	// NoUpper is the reason why the changes of a MountCOW cannot be kept where they are to be; "" if they can.
	NoUpper string `json:"no_upper,omitempty"`
	// NoOverlay is the reason why the source cannot be a layer of an overlay; "" if it can.
	NoOverlay string `json:"no_overlay,omitempty"`
	Content   string `json:"-"` // of a MountFile, or of a file that is shown as a copy
	// Copied means that a bind of a file is shown as a copy: locks and watches do not cross it.
	Copied bool `json:"copied,omitempty"`

	Fd            int    // O_PATH, or the file
	Volume, Below string // of a MountVolume
}

// Masks returns the parts of /proc that are hidden or read-only in a jail: what other containers mask, and why is in
// THREATS.md. A path that the kernel does not have needs no mask.
func Masks() (hidden, readOnly []string) {
	return []string{"acpi", "asound", "interrupts", "irq", "kcore", "key-users", "keys", "latency_stats", "locks",
			"sched_debug", "scsi", "softirqs", "timer_list"},
		[]string{"bus", "fs", "sys", "sysrq-trigger"}
}

// EveryKernel lists the Masks that exist on every machine. A launcher that was forked early covers them before it has
// the program (launcher.Ahead).
var EveryKernel = []string{"interrupts", "irq", "key-users", "keys", "locks", "softirqs", "timer_list",
	"bus", "fs", "sys"}

// Descriptor numbers that are part of a program: a control message has to name the descriptors that it passes.
const (
	FdCycle            = 259 // and the one after it
	FdNamespace        = 262
	FdMaster, FdSeated = 262, 261 // the jail's terminal, after FdNamespace was closed, and what tells that it is set up
	FdRule             = 262      // what a Landlock rule is for, one after the other
	FdSockets          = 280      // the first socket that a jail passes to its keeper
)

// NeededFiles is the least RLIMIT_NOFILE of the launcher: above the descriptor numbers of a program without sockets.
const NeededFiles = FdMaster + 1
