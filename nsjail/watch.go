package nsjail

import (
	"cmp"
	"context"
	"os"
	"time"

	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// cause is why the keeper has ended a jail.
type cause int32

const (
	notEnded cause = iota
	endedWall
	endedIdle
	endedCPU
	endedOutput
	endedCancel
	endedMemory // version 1 kills one process; this ends the others
)

// startWatch ends the jail at a limit of the keeper's own or with the context. Go's timers follow CLOCK_MONOTONIC:
// steps of the system's time do not matter. No goroutine waits: a start wakes no thread for this.
func (c *Cmd) startWatch() {
	if c.plan.Wall > 0 {
		c.timers.Start(&c.timers.Wall, time.Duration(c.plan.Wall)-time.Since(c.marks[3]), func() { c.endFor(endedWall) })
	}
	c.stopCtx = context.AfterFunc(c.ctx, func() { c.endFor(endedCancel) })
}

// watchPayload starts the clocks that run from the payload's start.
func (c *Cmd) watchPayload() {
	if idle := time.Duration(c.Spec.Limits.Idle); idle > 0 {
		c.state.lastOutput.Store(time.Since(c.marks[0]).Nanoseconds())
		c.timers.Start(&c.timers.Idle, idle, func() { c.checkIdle(idle) })
	}
	if limit := time.Duration(c.Spec.Limits.CPUTime); limit > 0 && c.group != nil {
		c.checkCPU(limit)
	}
}

func (c *Cmd) unwatch() {
	c.timers.End()
	c.stopCtx()
}

// checkIdle ends the jail if nothing has been said for so long, or comes again when that might be.
func (c *Cmd) checkIdle(idle time.Duration) {
	quiet := time.Since(c.marks[0]) - time.Duration(c.state.lastOutput.Load())
	if quiet >= idle {
		c.endFor(endedIdle)
		return
	}
	c.timers.Start(&c.timers.Idle, idle-quiet, func() { c.checkIdle(idle) })
}

// checkCPU ends the jail if its group has used so much processor time, or comes again when it could have, at the
// earliest: with all processors busy.
func (c *Cmd) checkCPU(limit time.Duration) {
	const least = 5 * time.Millisecond
	used := c.group.CPUUsage()
	if used >= limit {
		c.endFor(endedCPU)
		return
	}
	c.timers.Start(&c.timers.CPU, max(least, (limit-used)/time.Duration(c.plan.Processors())),
		func() { c.checkCPU(limit) })
}

// endFor ends the jail for the first cause that comes. Those that a payload may prepare for give it Spec.Limits.Grace.
func (c *Cmd) endFor(why cause) {
	if c.state.done.Load() || !c.state.cause.CompareAndSwap(int32(notEnded), int32(why)) {
		return
	}
	grace := time.Duration(c.Spec.Limits.Grace)
	if grace > 0 && (why == endedWall || why == endedIdle || why == endedCancel) {
		c.state.warned.Store(true)         // first, for the payload may be gone before the call returns
		if c.signal(unix.SIGTERM) == nil { // init passes it on
			time.AfterFunc(grace, c.end)
			return
		}
		c.state.warned.Store(false)
	}
	c.end()
}

// Stop asks the payload to end, with a signal. Unless the jail has ended within Limits.Grace, or DefaultGrace where
// that is 0, it is killed, with status cancelled. Another Stop meanwhile passes its signal on, and does not extend that
// time. SIGKILL ends the jail at once.
func (c *Cmd) Stop(sig os.Signal) error {
	kill := func() {
		c.state.cause.CompareAndSwap(int32(notEnded), int32(endedCancel)) // the limit that comes first has asked already
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

// endGrace is how long init may take to end the jail before it is killed, and startGrace as long as nobody knows
// whether the payload has started: killed now, that would stay unknown.
const (
	endGrace   = 200 * time.Millisecond
	startGrace = 5 * time.Second
)

// end asks init to kill everything and to report what it took: killed with its init, a pid namespace's processes are
// collected by the kernel, which counts their time nowhere. Nobody waits for the timer: pidfds are not used again. An
// error of signal means that the jail has ended.
func (c *Cmd) end() {
	if c.group != nil {
		c.group.Unthrottle() // dying takes processor time, init's too
	}
	if c.frozen.Load() { // init could not answer
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

// kill ends process 1, and the kernel all others. Version 1 delivers no signal to a frozen process before it is thawed.
func (c *Cmd) kill() {
	_ = c.signal(unix.SIGKILL)
	if c.frozen.Load() {
		_ = c.group.Freeze(false)
	}
	c.hurry()
}

// countOutput counts what the payload has written, and returns how many of n bytes the limit on output lets pass.
func (c *Cmd) countOutput(n int) int {
	if c.Spec.Limits.Idle > 0 {
		c.state.lastOutput.Store(time.Since(c.marks[0]).Nanoseconds())
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
