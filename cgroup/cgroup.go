// Package cgroup finds out how a machine lays out its control groups: cgroups(7). This version only looks; it makes
// no group and sets no limit.
//
// It is the only importer of github.com/containerd/cgroups, and of its root package alone: the version packages below
// it cost every start of the program.
package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/containerd/cgroups/v3"
	"golang.org/x/sys/unix"
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

// Layout is what a process can know of its control groups.
type Layout struct {
	Mode Mode `json:"mode"`
	// Group is the process's own group in the version 2 tree as /proc/self/cgroup has it, so relative to its cgroup
	// namespace; "" without such a tree.
	Group string `json:"group,omitempty"`
	// Dir is where that group is in the file system; "" if it cannot be reached from this mount namespace.
	Dir string `json:"dir,omitempty"`
	// Controllers maps each version 1 controller to the directory of the own group in its hierarchy; "" as in Dir.
	Controllers map[string]string `json:"controllers,omitempty"`
	// Enabled are the controllers that the own version 2 group offers (cgroup.controllers).
	Enabled []string `json:"enabled,omitempty"`
	// Delegated says that the caller seems to be allowed to make groups below its own; only mkdir(2) proves it.
	Delegated bool `json:"delegated"`
	// Why says why not.
	Why string `json:"why,omitempty"`
}

// String is one line.
func (l Layout) String() string {
	s := string(l.Mode)
	if l.Group != "" {
		s += ", group " + quote(l.Group)
	}
	if len(l.Enabled) > 0 {
		s += ", controllers " + strings.Join(l.Enabled, " ")
	}
	switch {
	case l.Mode == None:
		return "no control group is mounted"
	case l.Delegated:
		return s + ", delegated"
	}
	return s + ", not delegated: " + l.Why
}

// Detect reads the layout of this process. It changes nothing.
func Detect() (Layout, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without control groups has no such file
		return Layout{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Layout{}, err
	}
	l := Parse(string(self), string(mounts))
	// A mount point that another mount covers is still in mountinfo: the library asks the file system itself.
	if usual := cgroups.Mode(); usual == cgroups.Unavailable && strings.HasPrefix(l.Dir, "/sys/fs/cgroup") {
		return Layout{Mode: None}, nil
	}
	l.look()
	return l, nil
}

// look asks the file system about the own groups.
func (l *Layout) look() {
	switch {
	case l.Mode == None:
		return
	case l.Mode == V2 || l.Mode == Hybrid:
		if b, err := os.ReadFile(path.Join(l.Dir, "cgroup.controllers")); l.Dir != "" && err == nil {
			l.Enabled = strings.Fields(string(b))
		}
	}
	if l.Why != "" {
		return
	}
	for _, dir := range l.dirs() {
		// what a delegater hands over: cgroups(7), Delegation
		for _, f := range dir.files {
			if err := unix.Faccessat(unix.AT_FDCWD, path.Join(dir.path, f), unix.W_OK, unix.AT_EACCESS); err != nil {
				l.Why = quote(path.Join(dir.path, f)) + ": " + err.Error()
				return
			}
		}
	}
	l.Delegated = true
}

type owned struct {
	path  string
	files []string
}

// dirs are the directories that limits would be set below: the controllers' where there are any, since a hybrid
// machine's version 2 tree limits nothing.
func (l *Layout) dirs() (list []owned) {
	if l.Dir != "" {
		list = append(list, owned{l.Dir, []string{"", "cgroup.procs", "cgroup.subtree_control"}})
	}
	for _, c := range []string{"memory", "pids", "cpu"} {
		if dir := l.Controllers[c]; dir != "" {
			list = append(list, owned{dir, []string{"", "cgroup.procs"}})
		}
	}
	return list
}
