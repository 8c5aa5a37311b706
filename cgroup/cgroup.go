// Package cgroup makes control groups for jails: cgroups(7). One API serves version 2 (as root, delegated to an
// ordinary user, or in a container's cgroup namespace), version 1 as root, and the hybrid of both.
//
//	Detect -> Layout       what this process may know of its groups: the only reading, it changes nothing
//	Resolve -> Plan        which files get which values, and what cannot be had and why: pure
//	Plan.Create -> Group   performs the plan's steps, and takes everything back when one fails
//	Group                  read, freeze, kill, remove
//	Sweep                  removes the groups that a killed process has left
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

// Mode is which versions of control groups a machine mounts.
type Mode string

// The modes.
const (
	None   Mode = "none"   // no hierarchy is mounted
	V1     Mode = "v1"     // version 1 only
	Hybrid Mode = "hybrid" // the controllers in version 1, with a version 2 tree beside them
	V2     Mode = "v2"     // version 2 only
)

// Leaf is the group that a version 2 group's own processes move to, so that it may have children with controllers:
// cgroups(7), "no internal processes".
const Leaf = "brig.leaf"

// Layout is what a process can know of its control groups.
type Layout struct {
	Mode Mode `json:"mode"`
	// Group is the process's own group in the version 2 tree as /proc/self/cgroup has it, so relative to its cgroup
	// namespace; "" without such a tree.
	Group string `json:"group,omitempty"`
	// Dir is the directory of the version 2 tree that new groups go below: the own group, its parent if that is a
	// Leaf, or what the caller named; "" if it cannot be reached from this mount namespace.
	Dir string `json:"dir,omitempty"`
	// Controllers maps each version 1 controller to the directory that new groups go below; "" as in Dir.
	Controllers map[string]string `json:"controllers,omitempty"`
	// Enabled are the controllers that Dir offers (cgroup.controllers).
	Enabled []string `json:"enabled,omitempty"`
	// Subtree are those that Dir's children have already (cgroup.subtree_control).
	Subtree []string `json:"subtree,omitempty"`
	// Denied says why no group can be made for a version 1 controller, or, under "", in the version 2 tree. A missing
	// entry proves nothing: only mkdir(2) does.
	Denied map[string]string `json:"denied,omitempty"`
	// Delegated says that the caller seems to be allowed to make groups below its own; only mkdir(2) proves it.
	Delegated bool `json:"delegated"`
	// Why says why not.
	Why string `json:"why,omitempty"`
	// Systemd says that systemd runs this machine, and may be asked for a scope: systemd.scope(5).
	Systemd bool `json:"systemd,omitempty"`
	// CPUs and Mems are the processors and memory nodes that a group may be given, as cpuset(7) lists them; "" is
	// unknown.
	CPUs string `json:"cpus,omitempty"`
	Mems string `json:"mems,omitempty"`
	// Swap says that the machine has any.
	Swap bool `json:"swap,omitempty"`
}

// String is one line.
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

// Detect reads the layout of this process. Groups are to go below parent, a path as /proc/self/cgroup writes it; ""
// is the process's own group. It changes nothing.
func Detect(parent string) (*Layout, error) {
	mounts, err := readFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return DetectIn(parent, mounts, nil)
}

// DetectIn is Detect for a caller that has read /proc/self/mountinfo already, and that needs no other controllers of
// version 1 than these; nil is all of them. Each takes a start some ten microseconds.
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
