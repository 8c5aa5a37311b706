// Package cgroup makes control groups for jails: cgroups(7). One API serves version 2 (as root, delegated to an
// ordinary user, or in a container's cgroup namespace), version 1 as root, and the hybrid of both.
//
//	Detect -> Layout       what this process can read about its groups; nothing is changed
//	Resolve -> Plan        which files get which values, and which limits cannot be held and why; pure
//	Plan.Create -> Group   performs the plan's steps, and removes everything when one fails
//	Group                  read, freeze, kill, remove
//	Sweep                  removes the groups that killed keepers have left
//
// It is the only importer of github.com/containerd/cgroups, and of its root package alone: the version packages below
// it cost every start of the program, and have a room of their own (monitor).
package cgroup

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/containerd/cgroups/v3"
)

// Mode is the versions of control groups that a machine mounts.
type Mode string

// The modes.
const (
	None   Mode = "none"   // no hierarchy is mounted
	V1     Mode = "v1"     // version 1 only
	Hybrid Mode = "hybrid" // the controllers in version 1, with a version 2 tree beside them
	V2     Mode = "v2"     // version 2 only
)

// Leaf is the group to which the processes of a version 2 group move, so that it may have children with controllers:
// cgroups(7), "no internal processes".
const Leaf = "brig.leaf"

// Layout is what a process can know of its control groups.
type Layout struct {
	Mode Mode `json:"mode"`
	// Group is the process's own group in the version 2 tree as /proc/self/cgroup has it, so relative to its cgroup
	// namespace; "" without such a tree.
	Group string `json:"group,omitempty"`
	// Dir is the directory of the version 2 tree below which new groups are made: that of the process's group, its parent
	// if the group is a Leaf, or that the caller named; "" if it cannot be reached from this mount namespace.
	Dir string `json:"dir,omitempty"`
	// Controllers maps each version 1 controller to the directory below which new groups are made; "" as in Dir.
	Controllers map[string]string `json:"controllers,omitempty"`
	// Enabled are the controllers that Dir offers (cgroup.controllers).
	Enabled []string `json:"enabled,omitempty"`
	// Subtree are those that Dir's children have already (cgroup.subtree_control).
	Subtree []string `json:"subtree,omitempty"`
	// Denied is why no group can be made for a version 1 controller or, under "", in the version 2 tree. Without an
	// entry, mkdir(2) may still fail.
	Denied map[string]string `json:"denied,omitempty"`
	// Delegated is set if the caller can probably make groups below its own; only mkdir(2) proves it.
	Delegated bool `json:"delegated"`
	// Why is the reason if it cannot.
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

// Detect reads the layout of this process, and changes nothing. New groups are made below parent, a path as in
// /proc/self/cgroup; "" is the group of the process.
func Detect(parent string) (*Layout, error) {
	mounts, err := readFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return DetectIn(parent, mounts, nil)
}

// DetectIn is Detect for a caller that has read /proc/self/mountinfo, and that needs only these controllers of version
// 1; nil is all. Each costs a start some ten microseconds.
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
	// A mount point that another mount covers is still in mountinfo: the library asks the file system itself.
	if usual := cgroups.Mode(); usual == cgroups.Unavailable && strings.HasPrefix(l.Dir, "/sys/fs/cgroup") {
		return &Layout{Mode: None}, nil
	}
	return l, l.look(parent)
}
