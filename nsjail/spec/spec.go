// Package spec has the description of a jail: Spec, with its mounts, network, limits and units. A program fills in a
// Spec, or reads one with ParseSpec, and hands it to nsjail: Cmd.Spec, or Runner.CommandSpec. Check lists what is wrong
// with it, a Problem each; a start does the same first, and returns the first one as an Error.
//
// A Spec is data. All functions are pure: they return the same on every machine, and what a machine can do shows at the
// start. Sizes are Bytes and times are Durations; both are also written as text, "64m" and "1m30s". A zero field means
// its default: the constants Default..., DefaultRlimits, or what is in the comment of the field.
//
// LimitTable and Mechanisms are for programs that have flags, forms or policies of their own for what a Spec can hold.
// Error and Fault are the errors of the whole library.
package spec

import (
	"maps"
	"os"
	"slices"

	"brig/internal/repository"
	egress "brig/netns/egress/policy"
)

// Spec describes a jail without reference to a machine: the same Spec means the same on every host. Its JSON form and
// the flags of `brig run` are equivalent (`brig spec` converts one to the other). The zero Spec with Args is the
// default jail.
type Spec struct {
	// Args is the command and its arguments. A name without a slash is looked up in the jail's PATH.
	Args []string `json:"args"`
	// Env is added to the payload's environment, "NAME=value". It may override PATH, HOME, LANG, TERM and the caller's TZ.
	Env []string `json:"env,omitempty"`
	// PassEnv names variables of the caller to pass on. A name may be a glob (`LC_*`). A glob never matches a sensitive
	// name (see Sensitive), which must be written in full.
	PassEnv []string `json:"pass_env,omitempty"`
	// BareEnv leaves out PATH, HOME, LANG and TERM: the payload's environment is what PassEnv and Env say.
	BareEnv bool `json:"bare_env,omitempty"`
	// Workdir is the absolute path of the payload's initial working directory; "" means /work.
	Workdir string `json:"workdir,omitempty"`
	// User is the identity inside the jail, "UID[:GID]" in digits. The GID defaults to the UID, and "" means "1000:1000".
	// It does not determine the host's uid.
	User string `json:"user,omitempty"`
	// Hostname is the jail's host name (uts_namespaces(7)); "" means "brig".
	Hostname string `json:"hostname,omitempty"`
	// Tier is how the payload is kept apart: "" or TierProcess. It is never chosen by brig.
	Tier Tier `json:"tier,omitempty"`
	// Rootfs is the payload's root; the zero value is a minimal root with the host's /usr.
	Rootfs Rootfs `json:"rootfs,omitzero"`
	// Mounts are performed in order, after the directories of the root have been created.
	Mounts []Mount `json:"mounts,omitempty"`
	// Scratch is the capacity, in bytes, of the jail's own /tmp, /work, /output, /home/brig and /dev/shm together, or of
	// TierProcess's directory; 0 means DefaultTmpfsSize, or with a rootfs DefaultRootSize. A mount at one of them has a
	// Size of its own, and a writable root in memory holds them within Rootfs.Size.
	Scratch Bytes `json:"scratch,omitempty"`
	// Protect names paths below writable binds, volumes and cows that the payload can neither write, rename, remove nor
	// create, whether they exist or not. An absolute path is one of the jail, a relative one is meant in each such mount.
	// ProtectGit stands for a set of paths, and "!PATH" takes one back. See docs/reference/protected-paths.md.
	Protect []string `json:"protect,omitempty"`
	// Git is how git directories are shown where Protect has ProtectGit; "" means GitData to brig run and to brigd, and
	// GitRO to this package alone.
	Git Git `json:"git,omitempty"`
	// Repositories is what has been found of git in the writable mounts, or nil: then it is looked for. A program sets
	// it, not JSON.
	Repositories *repository.Found `json:"-"`
	// Etc names directories and files of the host's /etc that the payload sees at their place, read-only, and only what
	// every user may read. Every jail also has the public configuration that docs/reference/view.md describes.
	Etc []string `json:"etc,omitempty"`
	// Net is the network mode; "" means NetLoopback.
	Net Net `json:"net,omitempty"`
	// Egress is the policy for NetEgress; nil allows nothing.
	Egress *egress.Policy `json:"egress,omitempty"`
	// Publish lists TCP ports of the jail to which the host may connect, "[IP:]HOST:JAIL[/tcp]". The default address of
	// the host is 127.0.0.1.
	Publish []string `json:"publish,omitempty"`
	// TTY makes a new pseudo-terminal the payload's stdin, stdout and stderr (pty(7)).
	TTY bool `json:"tty,omitempty"`
	// NoInit makes the payload process 1 of its pid namespace instead of a child of brig's init.
	NoInit bool `json:"no_init,omitempty"`
	// Seccomp is the system-call filter: "" or "default", "unconfined", a preset (see seccomp.Presets), or the
	// path of a Docker/OCI JSON profile (a path has a slash).
	Seccomp string `json:"seccomp,omitempty"`
	// AppArmor is the AppArmor profile in which the payload starts: apparmor(7). The kernel must have loaded it in enforce
	// mode.
	AppArmor string `json:"apparmor,omitempty"`
	// SELinuxLabel is the SELinux context in which the payload starts, USER:ROLE:TYPE[:LEVEL] as the kernel writes it.
	SELinuxLabel string `json:"selinux_label,omitempty"`
	// Limits bound the jail's use of the machine.
	Limits Limits `json:"limits,omitzero"`
	// CgroupParent is an existing control group below which the jail's group is made, in the notation of /proc/self/cgroup
	// ("/batch.slice"); "" means the caller's own group.
	CgroupParent string `json:"cgroup_parent,omitempty"`
	// Require names mechanisms that must be in force without a fallback (see Mechanisms).
	Require []string `json:"require,omitempty"`
	// Optional names mechanisms that may be missing. Plan.Enforced and Result.Enforced state which ones are.
	Optional []string `json:"optional,omitempty"`
}

// Tier is a way to keep a payload apart from the host.
type Tier string

// TierProcess makes a jail without namespaces, for hosts that forbid them: the payload is a process of the host under
// Landlock, the system-call filter and resource limits. It needs Linux 6.12, sees the host's processes and the names of
// its files, and reads the host's /usr, the public part of /etc, the sources of binds, and a directory of its own.
// docs/reference/process-tier.md has what it lacks.
const TierProcess Tier = "process"

// System is how the host's /usr is shown, which is read-only in any case.
type System string

const (
	// SystemPrivate is an overlay of the jail's own, or a bind where none can be made: then Enforced tells.
	SystemPrivate System = "private"
	// SystemShared is a bind, as fast as on the host. flock(2) and fcntl(2) locks and inotify(7) watches cross it.
	SystemShared System = "shared"
)

// Rootfs is a directory tree for use as the jail's root.
type Rootfs struct {
	// Path is a directory of the host; "" means the minimal root.
	Path string `json:"path,omitempty"`
	// Image is the image whose tree is at Path, for Result.Image. This package looks up no image: package image/asroot
	// sets both, and a Spec with Image alone is one that waits for it.
	Image string `json:"image,omitempty"`
	// System is how the minimal root shows the host's /usr, and what of /etc belongs to it. "" means SystemPrivate.
	System System `json:"system,omitempty"`
	// Writable lets the payload write to its root. Changes are bounded by Size and Inodes, and dropped at the end.
	Writable bool `json:"writable,omitempty"`
	// Size is the capacity of a writable root in bytes; 0 means DefaultRootSize.
	Size Bytes `json:"size,omitempty"`
	// Inodes is the number of files that the changes of a writable root can hold, at most DefaultRootInodes; 0 means as
	// many.
	Inodes int64 `json:"inodes,omitempty"`
	// Store is where the changes of a writable root are kept, as in Mount.Store. "" means memory; with Keep, it means disk
	// where memory cannot keep them (before Linux 6.6).
	Store string `json:"store,omitempty"`
	// Keep returns the changes of a writable root in Result.Changes, with "/" as the target.
	Keep bool `json:"keep,omitempty"`
}

// MountType determines what a Mount creates at its target.
type MountType string

// The mount types.
const (
	MountBind    MountType = "bind"    // a directory or file of the host, read-only unless Writable
	MountTmpfs   MountType = "tmpfs"   // an empty, size-limited tmpfs(5)
	MountDir     MountType = "dir"     // an empty directory
	MountSymlink MountType = "symlink" // a symbolic link whose text is Source
	MountFile    MountType = "file"    // a private read-only copy of the host's file Source
	MountData    MountType = "data"    // a private read-only file that holds Content
	MountVolume  MountType = "volume"  // a directory of a Volume, "ID/dir", read-only unless Writable
	// MountCOW is a directory of the host that the payload may write to and that never changes (copy on write): what the
	// payload writes goes to the upper directory of an overlay, which Result.Changes returns.
	MountCOW MountType = "cow"
)

// Mount adds an entry to the jail's file tree.
type Mount struct {
	// Type is one of the mount types; it has no default.
	Type MountType `json:"type"`
	// Source is a path of the host (bind, file, cow), the target of a symlink, or a volume's id and directory.
	Source string `json:"source,omitempty"`
	// Target is an absolute, clean path in the jail.
	Target string `json:"target"`
	// Writable makes a bind or a volume writable.
	Writable bool `json:"writable,omitempty"`
	// Live makes a read-only bind show changes of the host at once. Otherwise a directory is a private read-only overlay,
	// if the kernel allows that, and a file of at most 1 MiB is a copy. File locks, watches (inotify(7)) and sockets do
	// not work through an overlay or a copy.
	Live bool `json:"live,omitempty"`
	// Plain leaves the owners of a bind's files as they are. Called by root, the payload then has the permissions there
	// that every user has, instead of the owner's, and what it creates belongs to its own uid of the host. For an
	// ordinary user all binds are plain. No flag sets it.
	Plain bool `json:"plain,omitempty"`
	// NoExec refuses execve(2) of what is in a bind, a volume or a tmpfs (mount(8) noexec). Of flags only --tmpfs sets it.
	NoExec bool `json:"no_exec,omitempty"`
	// Size is the capacity of a tmpfs, or of the changes of a cow, in bytes; 0 means DefaultTmpfsSize or DefaultCOWSize.
	Size Bytes `json:"size,omitempty"`
	// Inodes is the number of files that a tmpfs, or the changes of a cow, can hold; 0 means DefaultTmpfsInodes or
	// DefaultCOWInodes.
	Inodes int64 `json:"inodes,omitempty"`
	// Store is where the changes of a cow are kept: "" or "memory", a tmpfs(5) that the kernel bounds, or "disk", a
	// directory of brig's that the keeper looks at several times a second.
	Store string `json:"store,omitempty"`
	// Mode is the octal permission of a tmpfs, dir, file or data; the default is 1777, 755, 444 or 444, respectively.
	Mode string `json:"mode,omitempty"`
	// Content is the content of a data file, at most 4 MiB each and 12 MiB together.
	Content string `json:"content,omitempty"`
	// Held, if set, is what the mount shows, and Source is only its path. A program sets it, not JSON.
	Held *Held `json:"-"`
}

// Held is a directory or file that the caller holds open. A mount of it shows this file or fails, whatever has been put
// at its path since it was opened.
type Held struct {
	// Name is what the caller calls it, for policies and logs.
	Name string
	// File is open until the jail has started; O_PATH is enough (open(2)).
	File *os.File
	// Internal is set for a directory that payloads alone write to, and in which no program of the host acts on what they
	// leave: a cache. It is searched neither for sockets nor for git directories, and may be one of brig's own.
	Internal bool
	// Used is how many bytes are in a directory, and Most how many may be in it while the jail runs; 0 is no bound. The
	// keeper watches the file system, and counts where the bound may be reached: StatusDisk.
	Used, Most Bytes
}

// Writes reports whether the payload can write to what the mount shows of the host, or to a copy of it.
func (m *Mount) Writes() bool { return m.Writable || m.Type == MountCOW }

// Internal reports whether the mount shows a directory that payloads alone write to: Held.Internal.
func (m *Mount) Internal() bool { return m.Held != nil && m.Held.Internal }

// Net is a network mode.
type Net string

// The network modes.
const (
	NetNone     Net = "none"     // a network namespace whose lo is down
	NetLoopback Net = "loopback" // a network namespace with lo up and nothing else: the default
	NetEgress   Net = "egress"   // a network namespace from which only what Spec.Egress names can be reached
	NetHost     Net = "host"     // the caller's own network: no isolation
)

// Policy returns Egress, or an empty policy, which allows nothing, if it is nil.
func (s *Spec) Policy() *egress.Policy {
	if s.Egress == nil {
		return &egress.Policy{}
	}
	return s.Egress
}

// Clone returns a deep copy.
func (s *Spec) Clone() *Spec {
	c := *s
	for _, list := range []*[]string{&c.Args, &c.Env, &c.PassEnv, &c.Protect, &c.Etc, &c.Publish, &c.Require,
		&c.Optional, &c.Limits.Cgroup} {
		*list = slices.Clone(*list)
	}
	c.Egress = c.Egress.Clone()
	c.Mounts, c.Limits.IO = slices.Clone(c.Mounts), slices.Clone(c.Limits.IO)
	c.Limits.Rlimits, c.Limits.HugeTLB = maps.Clone(c.Limits.Rlimits), maps.Clone(c.Limits.HugeTLB)
	return &c
}
