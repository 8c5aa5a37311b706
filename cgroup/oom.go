package cgroup

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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
