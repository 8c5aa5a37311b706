package nsjail

import (
	"cmp"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"brig/cgroup"
	"brig/nsjail/internal/run"
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
	endedNetlink // too many messages: checkNetlink
)

// ender sends the signals of the caller to a jail, freezes it, and ends it.
type ender struct {
	first  *run.Process
	group  *cgroup.Group // nil for none
	seat   seat
	tier   spec.Tier
	grace  time.Duration // Limits.Grace
	timers run.Timers    // of the whole jail

	cause   atomic.Int32 // why the keeper ended the jail; set before it does
	warned  atomic.Bool  // the payload has received SIGTERM first
	running atomic.Bool  // the payload has started
	asked   atomic.Bool  // stop has asked the payload to end
	frozen  atomic.Bool
	done    atomic.Bool  // the jail has ended
	keyed   atomic.Int32 // the signal for which SIGKILL has ended a payload that is process 1
}

// signal sends a signal of the caller's: see Cmd.Signal.
func (e *ender) signal(sig os.Signal) error {
	s, ok := sig.(unix.Signal)
	switch {
	case !ok:
		return os.ErrInvalid
	case e.done.Load():
		return os.ErrProcessDone
	case s == unix.SIGKILL:
		return e.killInit()
	case e.first.Alone && (s == unix.SIGINT || s == unix.SIGQUIT):
		if run.ByDefault(e.first.Pid, s) { // the kernel keeps it from process 1: pid_namespaces(7)
			e.keyed.Store(int32(s))
			return e.killInit()
		}
		e.seat.before(s)
		defer run.SignalOthers(e.first.Pid, s) // a shell looks whether it had the signal before its command ended
		return e.first.Signal(s)
	case s == unix.SIGCONT:
		return e.seat.streams.Desk().Continue(func() error { return e.first.Signal(s) })
	}
	e.seat.before(s)
	return e.first.Signal(s)
}

// endFor ends the jail for the first cause that occurs. A payload gets Spec.Limits.Grace after a limit on time or the
// end of the context.
func (e *ender) endFor(why cause) {
	if e.done.Load() || !e.cause.CompareAndSwap(int32(notEnded), int32(why)) {
		return
	}
	if e.grace > 0 && (why == endedWall || why == endedIdle || why == endedCancel) {
		e.warned.Store(true)            // before the signal: the payload may be gone before the call returns
		if e.ask(unix.SIGTERM) == nil { // init forwards it
			time.AfterFunc(e.grace, e.end)
			return
		}
		e.warned.Store(false)
	}
	e.end()
}

// ask sends the payload a signal that asks it to end. One that waits for the caller's terminal is continued afterwards.
func (e *ender) ask(sig os.Signal) error {
	waits := e.seat.streams.Desk().Ending()
	err := e.signal(sig)
	if err == nil && waits {
		_ = e.first.Signal(unix.SIGCONT) // an error means that the jail has ended
	}
	return err
}

// stop asks the payload to end: see Cmd.Stop.
func (e *ender) stop(sig os.Signal) error {
	kill := func() {
		e.cause.CompareAndSwap(int32(notEnded), int32(endedCancel)) // keeps the cause if a limit was first
		e.end()
	}
	switch {
	case e.done.Load():
		e.seat.streams.Desk().Ending() // what is still to be shown may wait for the terminal
		return os.ErrProcessDone
	case sig == unix.SIGKILL:
		kill()
		return nil
	}
	err := e.ask(sig)
	if err == nil && e.asked.CompareAndSwap(false, true) {
		e.timers.Start(&e.timers.Stop, cmp.Or(e.grace, time.Duration(spec.DefaultGrace)), kill)
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
func (e *ender) end() {
	if e.group != nil {
		e.group.Unthrottle() // ending takes processor time, that of init included
	}
	if e.frozen.Load() { // a frozen init cannot answer
		e.kill()
		return
	}
	if !e.first.Alone && e.first.Tell(0) == nil {
		wait := startGrace
		if e.running.Load() {
			wait = endGrace
		}
		time.AfterFunc(wait, e.kill)
		return
	}
	e.kill()
}

// kill kills process 1, whereupon the kernel kills all others. With cgroup version 1 a frozen process receives the
// signal only when it is thawed.
//
// Without a pid namespace the kernel kills nothing more than that process. So init is asked to end the jail, and killed
// only if it has not: the payload then ends with it (PR_SET_PDEATHSIG), but not what the payload has started, unless a
// control group holds it.
func (e *ender) kill() {
	_ = e.signal(unix.SIGKILL)
	if e.frozen.Load() {
		_ = e.group.Freeze(false)
	}
	e.hurry()
}

// killInit sends SIGKILL to process 1. In the process tier it is the last resort.
func (e *ender) killInit() error {
	if e.tier != spec.TierProcess {
		return e.first.Signal(unix.SIGKILL)
	}
	if e.first.Tell(0) != nil { // init is gone
		return e.first.Signal(unix.SIGKILL)
	}
	// an error means that the jail has ended
	time.AfterFunc(run.EndWait/2, func() { _ = e.first.Signal(unix.SIGKILL) })
	return nil
}

// hurry bounds the wait for the jail's first process by EndWait. Without init that process is the payload, and a
// process that it traces, or that traces it, may prevent its end. So hurry also kills its descendants, repeatedly while
// there are any.
func (e *ender) hurry() {
	if !e.first.Alone {
		return // the report socket closes when init ends
	}
	end := time.Now().Add(run.EndWait)
	_ = e.first.Pidfd.SetReadDeadline(end) // an error means that the pidfd is closed: the jail has ended
	var pass func()
	pass = func() {
		if run.KillBelow(e.first.Pid) && time.Now().Before(end) && !e.done.Load() {
			time.AfterFunc(endGrace, pass)
		}
	}
	pass()
}

// freeze stops or resumes the jail: see Cmd.Freeze.
func (e *ender) freeze(on bool) error {
	switch {
	case !e.running.Load():
		return errors.New("nsjail: Freeze before a successful Start")
	case e.done.Load():
		return os.ErrProcessDone
	case e.group == nil:
		return errors.New("nsjail: the jail has no control group to freeze; set a limit that needs one")
	}
	e.frozen.Store(on)
	err := e.group.Freeze(on)
	if on && cause(e.cause.Load()) != notEnded { // the keeper is ending the jail; a frozen one would delay it
		return errors.Join(os.ErrProcessDone, e.group.Freeze(false))
	}
	return err
}
