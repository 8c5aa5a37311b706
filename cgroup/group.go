package cgroup

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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

// V2 returns 1 if the plan has a version 2 directory, else 0.
func (p *Plan) V2() int { return len(p.Branches) - len(p.V1Joins()) }

// V1Joins returns the version 1 hierarchies that a process has to join by itself.
func (p *Plan) V1Joins() (bases []string) {
	for _, b := range p.Branches {
		if b.Version == 1 {
			bases = append(bases, b.Base)
		}
	}
	return bases
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

// WatchOOM calls killed after the out-of-memory killer has killed a process of a version 1 group. The caller can then
// kill the others, as memory.oom.group does in version 2: cgroups(7), memcg_test.rst of the kernel. stop ends the
// watch; in version 2 it is nil.
func (g *Group) WatchOOM(killed func()) (stop func() error, err error) {
	for d := range g.made() {
		if d.holds("memory") {
			return g.watchOOM(d, killed)
		}
	}
	return nil, nil
}

func (g *Group) watchOOM(d *directory, killed func()) (stop func() error, err error) {
	control, err := unix.Openat(d.fd, "memory.oom_control", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(control)
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(event), "oom") // the netpoller waits: no thread
	if err := d.put("cgroup.event_control", fmt.Sprintf("%d %d", event, control)); err != nil {
		f.Close()
		return nil, err
	}
	go func() {
		var b [8]byte
		for {
			if _, err := f.Read(b[:]); err != nil {
				return // stopped, or the group was removed
			}
			if g.lostToOOM() {
				killed()
				return
			}
		}
	}()
	return f.Close, nil
}

// lostToOOM waits briefly for the kill that follows the event. No kill follows if memory is reclaimed, and the event
// also comes from a group above.
func (g *Group) lostToOOM() bool {
	for range 50 {
		if n := g.OOMKills(); n != 0 { // negative: the group has been removed
			return n > 0
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
