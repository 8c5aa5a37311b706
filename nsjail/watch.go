package nsjail

import (
	"cmp"
	"context"
	"os"
	"time"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// cause is the reason for which the keeper ended a jail.
type cause int32

const (
	notEnded cause = iota
	endedWall
	endedIdle
	endedCPU
	endedOutput
	endedCancel
	endedDisk
	endedMemory  // cgroup version 1 kills one process only; the keeper ends the others
	endedNetlink // too many messages: watchNetlink
)

// startWatch ends the jail at a limit that the keeper enforces, or when the context ends. Go's timers follow
// CLOCK_MONOTONIC, so steps of the system time do not matter. No goroutine waits, so a start wakes no thread for this.
func (c *Cmd) startWatch() {
	if c.plan.Wall > 0 {
		left := time.Duration(c.plan.Wall) - time.Since(c.marks[momentPrepared])
		c.timers.Start(&c.timers.Wall, left, func() { c.endFor(endedWall) })
	}
	c.stopCtx = context.AfterFunc(c.ctx, func() { c.endFor(endedCancel) })
}

// watchPayload starts the clocks that count from the payload's start.
func (c *Cmd) watchPayload() {
	if idle := time.Duration(c.Spec.Limits.Idle); idle > 0 {
		c.state.lastOutput.Store(time.Since(c.marks[momentStarted]).Nanoseconds())
		c.timers.Start(&c.timers.Idle, idle, func() { c.checkIdle(idle) })
	}
	if limit := time.Duration(c.Spec.Limits.CPUTime); limit > 0 && c.group != nil {
		c.checkCPU(limit)
	}
	if len(c.stores) > 0 {
		c.timers.Start(&c.timers.Disk, diskInterval, c.checkDisk)
	}
	watchNetlink(c)
}

func (c *Cmd) unwatch() {
	c.timers.End()
	if c.stopCtx != nil {
		c.stopCtx()
	}
}

// checkIdle ends the jail if it has been silent for the given time, and otherwise sets the timer again.
func (c *Cmd) checkIdle(idle time.Duration) {
	quiet := time.Since(c.marks[momentStarted]) - time.Duration(c.state.lastOutput.Load())
	if quiet >= idle {
		c.endFor(endedIdle)
		return
	}
	c.timers.Start(&c.timers.Idle, idle-quiet, func() { c.checkIdle(idle) })
}

// checkCPU ends the jail if its group has used the given processor time in this run. Otherwise it checks again at the
// earliest time at which that can be true, with all processors busy.
func (c *Cmd) checkCPU(limit time.Duration) {
	const least = 5 * time.Millisecond
	used := c.group.CPUUsage() - max(0, c.state.before.CPU)
	if used >= limit {
		c.endFor(endedCPU)
		return
	}
	c.timers.Start(&c.timers.CPU, max(least, (limit-used)/time.Duration(c.plan.Processors())),
		func() { c.checkCPU(limit) })
}

// endFor ends the jail for the first cause that occurs. A payload gets Spec.Limits.Grace after a limit on time or the
// end of the context.
func (c *Cmd) endFor(why cause) {
	if c.state.done.Load() || !c.state.cause.CompareAndSwap(int32(notEnded), int32(why)) {
		return
	}
	grace := time.Duration(c.Spec.Limits.Grace)
	if grace > 0 && (why == endedWall || why == endedIdle || why == endedCancel) {
		c.state.warned.Store(true)         // before the signal: the payload may be gone before the call returns
		if c.Signal(unix.SIGTERM) == nil { // init forwards it
			time.AfterFunc(grace, c.end)
			return
		}
		c.state.warned.Store(false)
	}
	c.end()
}

// Stop sends a signal that asks the payload to end. If the jail has not ended within Limits.Grace (DefaultGrace if that
// is 0), it is killed and its status is cancelled. Another Stop in the meantime sends its signal too, and does not
// extend the time. SIGKILL ends the jail at once.
func (c *Cmd) Stop(sig os.Signal) error {
	kill := func() {
		c.state.cause.CompareAndSwap(int32(notEnded), int32(endedCancel)) // keeps the cause if a limit was first
		c.end()
	}
	if sig == unix.SIGKILL {
		kill()
		return nil
	}
	err := c.Signal(sig)
	if err == nil && c.state.asked.CompareAndSwap(false, true) {
		c.timers.Start(&c.timers.Stop, time.Duration(cmp.Or(c.Spec.Limits.Grace, spec.DefaultGrace)), kill)
	}
	return err
}

// endGrace is the time that init has to end the jail before it is killed. startGrace applies until the keeper knows
// whether the payload has started: after an earlier kill it would never know.
const (
	endGrace   = 200 * time.Millisecond
	startGrace = 5 * time.Second
)

// end asks init to kill all processes and to report their resource usage. If init itself is killed, the kernel collects
// the processes of the pid namespace and counts their time nowhere. The timer need not be stopped, since a pidfd never
// refers to another process. An error of signal means that the jail has ended.
func (c *Cmd) end() {
	if c.group != nil {
		c.group.Unthrottle() // ending takes processor time, that of init included
	}
	if c.frozen.Load() { // a frozen init cannot answer
		c.kill()
		return
	}
	if !c.Spec.NoInit {
		if _, err := c.report.Write([]byte{0}); err == nil {
			wait := startGrace
			if c.state.running.Load() {
				wait = endGrace
			}
			time.AfterFunc(wait, c.kill)
			return
		}
	}
	c.kill()
}

// kill kills process 1, whereupon the kernel kills all others. With cgroup version 1 a frozen process receives the
// signal only when it is thawed.
//
// Without a pid namespace the kernel kills nothing more than that process. So init is asked to end the jail, and killed
// only if it has not: the payload then ends with it (PR_SET_PDEATHSIG), but not what the payload has started, unless a
// control group holds it.
func (c *Cmd) kill() {
	_ = c.Signal(unix.SIGKILL)
	c.thaw()
	c.hurry()
}

// killInit sends SIGKILL to process 1. In the process tier it is the last resort.
func (c *Cmd) killInit() error {
	if c.Spec.Tier != spec.TierProcess {
		return c.signal(unix.SIGKILL)
	}
	if _, err := c.report.Write([]byte{0}); err != nil { // init is gone
		return c.signal(unix.SIGKILL)
	}
	time.AfterFunc(endWait/2, func() { _ = c.signal(unix.SIGKILL) }) // an error means that the jail has ended
	return nil
}

func (c *Cmd) thaw() {
	if c.frozen.Load() {
		_ = c.group.Freeze(false)
	}
}

// countOutput counts n bytes of output, and returns how many of them the limit on output lets pass.
func (c *Cmd) countOutput(n int) int {
	if c.Spec.Limits.Idle > 0 {
		c.state.lastOutput.Store(time.Since(c.marks[momentStarted]).Nanoseconds())
	}
	limit := int64(c.Spec.Limits.OutputLimit)
	if limit == 0 {
		return n
	}
	over := c.state.output.Add(int64(n)) - limit
	if over <= 0 {
		return n
	}
	c.state.over.Store(true)
	c.endFor(endedOutput)
	return int(max(0, int64(n)-over))
}
