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

	"brig/internal/sys"

	"github.com/containerd/cgroups/v3"
)

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
