package nsjail

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"brig/cgroup"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/disk"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// watch ends a jail at the limits that the keeper holds, or when the context ends. Go's timers follow CLOCK_MONOTONIC,
// so steps of the system time do not matter. No goroutine waits, so a start wakes no thread for this.
type watch struct {
	ender   *ender
	meter   *meter
	disks   *disks
	limits  *spec.Limits
	plan    *plan.Plan
	netlink bool         // netlink messages count against the limit on memory: see countsNetlink
	before  cgroup.Stats // the group's statistics when a payload was taken

	stopOOM   func() error // nil if there is no watch for kills
	stopCtx   func() bool
	uncounted atomic.Pointer[error] // why netlink messages could not be counted at some time; or nil
}

// start starts the clock of the whole run, which began at a time, and watches the context.
func (w *watch) start(ctx context.Context, began time.Time) {
	timers := &w.ender.timers
	if w.plan.Wall > 0 {
		left := time.Duration(w.plan.Wall) - time.Since(began)
		timers.StartWall(left, func() { w.ender.endFor(endedWall) })
	}
	w.stopCtx = context.AfterFunc(ctx, func() { w.ender.endFor(endedCancel) })
}

// payload starts the clocks that count from the payload's start.
func (w *watch) payload() {
	timers := &w.ender.timers
	if w.meter.idle > 0 {
		w.meter.touch()
		timers.Start(&timers.Idle, w.meter.idle, w.checkIdle)
	}
	if w.limits.CPUTime > 0 && w.ender.group != nil {
		w.checkCPU()
	}
	if w.disks.watched() {
		timers.Start(&timers.Disk, diskInterval, w.checkDisk)
	}
	if w.netlink {
		timers.Start(&timers.Netlink, netlinkInterval, w.checkNetlink)
	}
}

// end stops all clocks.
func (w *watch) end() {
	w.ender.timers.End()
	if w.stopCtx != nil {
		w.stopCtx()
	}
}

// checkIdle ends the jail if it has been silent for too long, and otherwise sets the timer again.
func (w *watch) checkIdle() {
	timers, quiet := &w.ender.timers, w.meter.quiet()
	if timers.Held() {
		quiet = 0 // release counts what has passed before
	}
	if quiet >= w.meter.idle {
		w.ender.endFor(endedIdle)
		return
	}
	timers.Start(&timers.Idle, w.meter.idle-quiet, w.checkIdle)
}

// hold stops the clocks of the whole time and of silence.
func (w *watch) hold() { w.ender.timers.Hold() }

// release lets them go on.
func (w *watch) release() { w.meter.last.Add(w.ender.timers.Release().Nanoseconds()) }

// checkCPU ends the jail if its group has used the processor time in this run. Otherwise it checks again at the
// earliest time at which that can be true, with all processors busy.
func (w *watch) checkCPU() {
	const least = 5 * time.Millisecond
	limit := time.Duration(w.limits.CPUTime)
	used := w.ender.group.CPUUsage() - max(0, w.before.CPU)
	if used >= limit {
		w.ender.endFor(endedCPU)
		return
	}
	timers := &w.ender.timers
	timers.Start(&timers.CPU, max(least, (limit-used)/time.Duration(w.plan.Processors())), w.checkCPU)
}

// diskInterval is the least time between two counts of the changes on disk. A count may take a tenth of the time.
const diskInterval = 100 * time.Millisecond

// checkDisk ends the jail if its changes on disk are above their limit, or have made the file system almost full.
// Otherwise it sets the timer again.
func (w *watch) checkDisk() {
	w.disks.counting.Lock()
	defer w.disks.counting.Unlock()
	if w.ender.done.Load() { // the stores may be closed
		return
	}
	began, pid := time.Now(), w.ender.first.Pid
	if w.disks.exceeded(func() int64 { return disk.Unlinked(append(sys.Descendants(pid), pid)) }) {
		w.ender.endFor(endedDisk)
		return
	}
	timers := &w.ender.timers
	timers.Start(&timers.Disk, max(diskInterval, 10*time.Since(began)), w.checkDisk)
}

const (
	// netlinkInterval is the least time between two counts of netlink messages. A count may take a tenth of the time.
	netlinkInterval = 100 * time.Millisecond
	// netlinkShare is the part of the limit on memory that messages may take beside it: a list of addresses that a
	// program has asked for ends no jail whose memory is the kernel's caches, of which version 1 does not count all.
	netlinkShare = 8
)

// checkNetlink ends the jail if the messages that wait in netlink sockets, which no control group counts, and what its
// group holds are above the limit on memory. Otherwise it sets the timer again.
func (w *watch) checkNetlink() {
	began, limit := time.Now(), int64(w.limits.Memory)
	waiting, err := w.ender.first.Netlink(limit)
	if err == os.ErrProcessDone {
		return
	}
	if err != nil {
		w.uncounted.CompareAndSwap(nil, &err)
	}
	if waiting > limit/netlinkShare {
		if held := w.ender.group.MemoryHeld(); held >= 0 && waiting > limit-held {
			w.ender.endFor(endedNetlink)
			return
		}
	}
	timers := &w.ender.timers
	timers.Start(&timers.Netlink, max(netlinkInterval, 10*time.Since(began)), w.checkNetlink)
}

// watchOOM ends the jail when the kernel kills one of its processes for lack of memory but not the others.
func (w *watch) watchOOM() (err error) {
	group := w.ender.group
	if group == nil || w.limits.Memory == 0 || w.limits.NoOOMGroup {
		return nil
	}
	if w.stopOOM, err = group.WatchOOM(func() { w.ender.endFor(endedMemory) }); err != nil {
		return spec.HostError("limits.memory", "control group: cannot watch for kills: "+err.Error(),
			"let them hit one process only: "+words.Set("limits.no_oom_group", true))
	}
	if w.stopOOM != nil && group.OOMKills() > 0 { // a kill before the watch began
		w.ender.endFor(endedMemory)
	}
	return nil
}
