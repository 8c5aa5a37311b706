package cgroup

import (
	"fmt"
	"iter"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Group is a control group in one or more hierarchies. Its methods may be called from several goroutines.
type Group struct {
	// Lost maps each optional mechanism that the kernel refused to the reason.
	Lost map[string]string

	plan *Plan
	mu   sync.Mutex
	dirs []*directory // by branch
}

// made locks the group and yields its directories, that of version 2 first.
func (g *Group) made() iter.Seq[*directory] {
	return func(yield func(*directory) bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, d := range g.dirs {
			if d.fd >= 0 && !yield(d) {
				return
			}
		}
	}
}

// Into returns a descriptor of the version 2 directory for clone3(2) CLONE_INTO_CGROUP (≥ 5.7), or -1. The group
// closes it. A write to cgroup.procs would wait for an RCU grace period instead.
func (g *Group) Into() int {
	for d := range g.made() {
		if d.Version == 2 {
			return d.fd
		}
	}
	return -1
}

// Tasks opens the files to which a process writes "0" to join the version 1 directories, one for each of Plan.V1Joins.
// The caller closes them. /dev/null replaces that of a directory that could not be made.
func (g *Group) Tasks() (fds []int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range g.dirs {
		if d.Version != 1 {
			continue
		}
		at, name := unix.AT_FDCWD, os.DevNull
		if d.fd >= 0 {
			at, name = d.fd, "tasks"
		}
		fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			return nil, fmt.Errorf("%s of %s: %w", name, quote(d.name), err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// Dirs returns the group's directories: the version 2 one or "", and the version 1 ones by controller.
func (g *Group) Dirs() (v2 string, v1 map[string]string) {
	v1 = map[string]string{}
	for d := range g.made() {
		if d.Version == 2 {
			v2 = d.path()
			continue
		}
		for _, c := range d.Controllers {
			v1[c] = d.path()
		}
	}
	return v2, v1
}

// Unthrottle removes the limit on processor time, so that the quota does not delay the end of the group's processes. A
// file that cannot be written is ignored.
func (g *Group) Unthrottle() {
	for d := range g.made() {
		if d.Version == 2 {
			_ = d.put("cpu.max", "max")
		} else {
			_ = d.put("cpu.cfs_quota_us", "-1")
		}
	}
}
