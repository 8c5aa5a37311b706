package cgroup

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// WatchOOM calls killed after the out-of-memory killer has killed a process of a version 1 group. The caller can then
// kill the others, as memory.oom.group does in version 2: cgroups(7), memcg_test.rst of the kernel. stop ends the
// watch; in version 2 it is nil.
func (g *Group) WatchOOM(killed func()) (stop func() error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.legacy("memory")
	if d == nil {
		return nil, nil
	}
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
		n, err := g.oomKills()
		if n > 0 || err != nil {
			return n > 0
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// oomKills reads the count of version 1. The group has been removed if it returns an error.
func (g *Group) oomKills() (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.legacy("memory")
	if d == nil {
		return 0, errGone
	}
	text, err := d.read("memory.oom_control")
	return keyed(text)["oom_kill"], err
}

// legacy returns the group's version 1 directory for a controller, or nil.
func (g *Group) legacy(controller string) *directory {
	for i, d := range g.dirs {
		if d != nil && d.version == 1 && slices.Contains(g.plan.Branches[i].Controllers, controller) {
			return d
		}
	}
	return nil
}
