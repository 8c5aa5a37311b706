// Package cgroup makes control groups for jails: cgroups(7). One API serves version 2 (as root, delegated to an
// ordinary user, or in a container's cgroup namespace), version 1 as root, and the hybrid of both.
//
//	Detect -> Layout       what this process can read about its groups; nothing is changed
//	Resolve -> Plan        which files get which values, and which limits cannot be held and why; pure
//	Plan.Create -> Group   performs the plan's steps, and removes everything if one fails
//	Group                  read, freeze, kill, remove
//	Sweep                  removes the groups that killed keepers have left
//
// Only this package imports github.com/containerd/cgroups, and only its root package. The version packages below that
// one bring protobuf, D-Bus, eBPF and a logger.
package cgroup

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/containerd/cgroups/v3"

	"brig/internal/sys"
)

// Mode is the set of cgroup versions that a machine mounts.
type Mode string

// The modes.
const (
	None   Mode = "none"   // no hierarchy is mounted
	V1     Mode = "v1"     // version 1 only
	Hybrid Mode = "hybrid" // the controllers in version 1, with a version 2 tree beside them
	V2     Mode = "v2"     // version 2 only
)

// leafName is the group to which the processes of a version 2 group move, so that it may have children with
// controllers: cgroups(7), "no internal processes".
const leafName = "brig.leaf"

// Layout describes the control groups of a process, as far as the process can read them.
type Layout struct {
	Mode Mode `json:"mode"`
	// Group is the process's own group in the version 2 tree, as in /proc/self/cgroup, that is, relative to its cgroup
	// namespace; "" without such a tree.
	Group string `json:"group,omitempty"`
	// Dir is the directory in the version 2 tree for new groups: that of the process's group, its parent if the group
	// is brig.leaf, or the one that the caller named; "" if it cannot be reached from this mount namespace.
	Dir string `json:"dir,omitempty"`
	// Controllers maps each version 1 controller to the directory for new groups; "" as in Dir.
	Controllers map[string]string `json:"controllers,omitempty"`
	// Enabled are the controllers that Dir offers (cgroup.controllers).
	Enabled []string `json:"enabled,omitempty"`
	// Subtree are the controllers already enabled for Dir's children (cgroup.subtree_control).
	Subtree []string `json:"subtree,omitempty"`
	// Denied maps a version 1 controller, or "" for the version 2 tree, to the reason why no group can be made there.
	// Without an entry, mkdir(2) may still fail.
	Denied map[string]string `json:"denied,omitempty"`
	// Delegated is set if the caller can probably make groups below its own; only mkdir(2) proves it.
	Delegated bool `json:"delegated"`
	// Why is the reason if Delegated is false.
	Why string `json:"why,omitempty"`
	// Systemd is set if systemd runs this machine and can create a scope: systemd.scope(5).
	Systemd bool `json:"systemd,omitempty"`
	// CPUs and Mems are the processors and memory nodes that a group may be given, as cpuset(7) lists them; "" is
	// unknown.
	CPUs string `json:"cpus,omitempty"`
	Mems string `json:"mems,omitempty"`
	// Swap is set if the machine has swap.
	Swap bool `json:"swap,omitempty"`
}

// String returns one line.
func (l Layout) String() string {
	s := string(l.Mode)
	if l.Group != "" {
		s += ", group " + quote(l.Group)
	}
	if len(l.Enabled) > 0 {
		s += ", version 2 controllers " + strings.Join(l.Enabled, " ")
	}
	switch {
	case l.Mode == None:
		return "no control group is mounted"
	case l.Delegated:
		return s + ", delegated"
	}
	return s + ", not delegated: " + l.Why
}

// Detect reads the layout of this process without changing anything. New groups are made below parent, a path as in
// /proc/self/cgroup; "" is the group of the process.
func Detect(parent string) (*Layout, error) {
	mounts, err := sys.Mounts()
	if err != nil {
		return nil, err
	}
	return DetectIn(parent, string(mounts), nil)
}

// DetectIn is Detect for a caller that has already read /proc/self/mountinfo, restricted to the controllers of version
// 1 in need; nil means all. Each controller takes some ten microseconds.
func DetectIn(parent, mountinfo string, need []string) (*Layout, error) {
	self, err := readFile("/proc/self/cgroup")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without control groups has no such file
		return nil, err
	}
	l := Parse(self, mountinfo, parent)
	for c := range l.Controllers {
		if need != nil && !slices.Contains(need, c) {
			delete(l.Controllers, c)
			delete(l.Denied, c)
		}
	}
	// A mount point covered by another mount is still in mountinfo, so the library asks the file system itself.
	if usual := cgroups.Mode(); usual == cgroups.Unavailable && strings.HasPrefix(l.Dir, "/sys/fs/cgroup") {
		return &Layout{Mode: None}, nil
	}
	return l, l.look(parent, need)
}
