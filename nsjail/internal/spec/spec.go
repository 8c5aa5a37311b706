package spec

import (
	"maps"
	"slices"

	egress "brig/netns/egress/policy"
)

// Spec says what a jail is, and nothing about the machine it will run on: the same Spec means the same on every
// host. Its JSON form and the flags of `brig run` say the same thing (`brig spec` prints one for the other).
// The zero Spec with Args is the default jail.
type Spec struct {
	// Args is the command and its arguments. A name without a slash is looked for in the jail's PATH.
	Args []string `json:"args"`
	// Env is the payload's environment, "NAME=value", beside PATH, HOME, LANG, TERM and the
	// caller's TZ, which it may override.
	Env []string `json:"env,omitempty"`
	// PassEnv names variables of the caller to pass on. A name may be a glob (`LC_*`); a glob never matches a
	// sensitive name (see Sensitive), which must be written out.
	PassEnv []string `json:"pass_env,omitempty"`
	// Workdir is the absolute directory that the payload starts in; "" means /work.
	Workdir string `json:"workdir,omitempty"`
	// User is the identity inside the jail, "UID[:GID]" in digits; a GID left out is the UID, and "" means
	// "1000:1000". It says nothing about the host's uid.
	User string `json:"user,omitempty"`
	// Hostname is the jail's host name (uts_namespaces(7)); "" means "brig".
	Hostname string `json:"hostname,omitempty"`
	// Rootfs is the tree that the payload sees as /; the zero value is a minimal root made of the host's /usr.
	Rootfs Rootfs `json:"rootfs,omitzero"`
	// Mounts are performed in order after the skeleton of the root.
	Mounts []Mount `json:"mounts,omitempty"`
	// Etc names directories and files of the host's /etc that the payload sees at their place, read-only and as far as
	// everybody may read them, beside the public configuration that every jail has (SPECIFICATION.md, "/etc").
	Etc []string `json:"etc,omitempty"`
	// Net is NetLoopback when "".
	Net Net `json:"net,omitempty"`
	// Egress is what NetEgress lets the payload reach; nil is nothing.
	Egress *egress.Policy `json:"egress,omitempty"`
	// Publish lists ports of the jail that the host may connect to, "[IP:]HOST:JAIL[/tcp]": TCP, on 127.0.0.1 unless an
	// address of the host is given.
	Publish []string `json:"publish,omitempty"`
	// TTY gives the payload a pseudo-terminal of its own as stdin, stdout and stderr (pty(7)).
	TTY bool `json:"tty,omitempty"`
	// NoInit makes the payload pid 1 of its namespace instead of a child of brig's init.
	NoInit bool `json:"no_init,omitempty"`
	// Seccomp is the system-call filter: "" or "default", "unconfined", a preset (see seccomp.Presets), or the
	// path of a Docker/OCI JSON profile (a path has a slash).
	Seccomp string `json:"seccomp,omitempty"`
	// Limits bound what the payload may use.
	Limits Limits `json:"limits,omitzero"`
	// CgroupParent is an existing control group to make the jail's own below, as /proc/self/cgroup writes it
	// ("/batch.slice"); "" means the caller's own group.
	CgroupParent string `json:"cgroup_parent,omitempty"`
	// Require names mechanisms that must be in force, with no fall-back (see Mechanisms).
	Require []string `json:"require,omitempty"`
	// Optional names mechanisms that may be missing; what was given up stands in the Plan and in Result.Enforced.
	Optional []string `json:"optional,omitempty"`
}

// Rootfs is a directory tree to use as the jail's root.
type Rootfs struct {
	// Path is a directory of the host; "" means the minimal root.
	Path string `json:"path,omitempty"`
	// Writable lets the payload write to its root; what it writes is kept in memory, bounded by Size, and dropped.
	Writable bool `json:"writable,omitempty"`
	// Size bounds what a writable root may hold, in bytes; 0 means DefaultRootSize.
	Size Bytes `json:"size,omitempty"`
}

// MountType is what a Mount makes at its target.
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
)

// Mount is one entry of the jail's tree.
type Mount struct {
	Type MountType `json:"type"`
	// Source is a path of the host (bind, file), the text of a symlink, or a volume's id and directory.
	Source string `json:"source,omitempty"`
	// Target is an absolute, clean path in the jail.
	Target string `json:"target"`
	// Writable allows writing through a bind.
	Writable bool `json:"writable,omitempty"`
	// Live makes a read-only bind show the host's changes at once. Without it a directory is a private read-only overlay
	// where the kernel allows, and a file of at most 1 MiB a copy: locks, watches (inotify(7)) and sockets do not cross
	// it.
	Live bool `json:"live,omitempty"`
	// Size is the capacity of a tmpfs in bytes; 0 means DefaultTmpfsSize.
	Size Bytes `json:"size,omitempty"`
	// Inodes is the number of files that a tmpfs may hold; 0 means DefaultTmpfsInodes.
	Inodes int64 `json:"inodes,omitempty"`
	// Mode is the permission of a tmpfs, dir, file or data, in octal ("1777"); "" means 1777, 755, 444 and 444.
	Mode string `json:"mode,omitempty"`
	// Content is what a data holds, at most 4 MiB each and 12 MiB together.
	Content string `json:"content,omitempty"`
}

// Net is the jail's network.
type Net string

// The network modes.
const (
	NetNone     Net = "none"     // a network namespace whose lo is down
	NetLoopback Net = "loopback" // a network namespace with lo up and nothing else: the default
	NetEgress   Net = "egress"   // a network namespace from which what Spec.Egress names is reached, and nothing else
	NetHost     Net = "host"     // the caller's own network: no isolation
)

// Policy is Egress; nil allows nothing, as an empty one does.
func (s *Spec) Policy() *egress.Policy {
	if s.Egress == nil {
		return &egress.Policy{}
	}
	return s.Egress
}

// Clone returns a copy that shares nothing with the original.
func (s *Spec) Clone() *Spec {
	c := *s
	for _, list := range []*[]string{&c.Args, &c.Env, &c.PassEnv, &c.Etc, &c.Publish, &c.Require, &c.Optional,
		&c.Limits.Cgroup} {
		*list = slices.Clone(*list)
	}
	c.Egress = c.Egress.Clone()
	c.Mounts, c.Limits.IO = slices.Clone(c.Mounts), slices.Clone(c.Limits.IO)
	c.Limits.Rlimits, c.Limits.HugeTLB = maps.Clone(c.Limits.Rlimits), maps.Clone(c.Limits.HugeTLB)
	return &c
}
