package nsjail

import (
	"context"
	"errors"
	"os"
	"time"

	"brig/cgroup"
	"brig/internal/program"
	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// Start makes the jail and starts the command. When it returns nil, the command's execve(2) has succeeded.
func (c *Cmd) Start() (err error) {
	if c.started {
		return errors.New("nsjail: a Cmd is started once")
	}
	c.started = true
	if c.ctx == nil {
		c.ctx = context.Background()
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.mark(0)
	if c.own {
		if c.runner, err = NewRunner(); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, c.runner.Close())
			}
		}()
	}
	if problems := c.Spec.Check(); len(problems) > 0 {
		return problems[0].asError()
	}
	host, err := Look(&c.Spec)
	if err != nil {
		return err
	}
	defer host.Close()
	host.EarlyStage = c.runner.stage.Early
	if d := c.runner.identity(); d != nil { // one stage, one unprivileged user
		host.PayloadUID, host.PayloadGID = d.PayloadUID, d.PayloadGID
	}
	c.mark(1)
	if c.plan, err = resolveChecked(&c.Spec, host); err != nil {
		return err
	}
	if c.edit != nil {
		c.edit(c.plan)
	}
	c.mark(2)
	c.state.stats = cgroup.Unknown()
	c.state.cpuLimit = time.Duration(c.Spec.Limits.CPUTime)
	c.state.oomGroup = c.Spec.Limits.Memory > 0 && !c.Spec.Limits.NoOOMGroup
	return c.spawn()
}

func (p Problem) asError() error {
	return &Error{Fault: FaultCaller, Op: p.Path, Detail: p.Reason, Remedy: p.Fix}
}

func (r *Runner) identity() *Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// spawn hands the plan to the stage and waits for the payload's execve(2).
func (c *Cmd) spawn() (err error) {
	var theirs []int // descriptors that the jail gets: ours to close once the stage has them
	defer func() { closeAll(theirs) }()
	ours, jail, err := reportSocket()
	if err != nil {
		return err
	}
	c.report = ours
	theirs = append(theirs, jail)
	streams, err := c.openStreams()
	theirs = append(theirs, streams...)
	if err != nil {
		return c.abandon(err)
	}
	passed, err := c.runner.pass(c.plan)
	if err != nil {
		return c.abandon(err)
	}
	theirs = append(theirs, passed...)
	if err := c.runner.adopt(c.plan); err != nil {
		return c.abandon(err)
	}
	group, into, err := c.makeGroup()
	theirs = append(theirs, group...)
	if err != nil {
		return c.abandon(err)
	}
	if into >= 0 { // the last one; the stage counts the program itself, too
		into = len(theirs)
	}
	c.mark(3)
	pid, err := c.runner.stage.Do(c.plan.Jail, program.Request{CloneFlags: c.plan.Flags, Cgroup: into, Ward: c.Spec.NoInit}, theirs...)
	if err != nil {
		return c.abandon(c.cloneError(err))
	}
	c.mark(4)
	closeAll(theirs)
	theirs = nil
	if err := c.adoptPid(pid); err != nil {
		reap(pid)
		return c.abandon(err)
	}
	if err := c.watchOOM(); err != nil {
		c.kill()
		_, _, werr := c.waitPid()
		return errors.Join(c.abandon(err), werr)
	}
	return c.confirm()
}

// adoptPid holds the jail's first process by a pidfd, which the netpoller waits on: no thread per jail.
func (c *Cmd) adoptPid(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return &Error{Fault: FaultHost, Op: "pidfd_open", Detail: err.Error()}
	}
	c.pid, c.pidfd = pid, os.NewFile(uintptr(fd), "pidfd")
	return c.runner.register(c)
}

func (r *Runner) register(c *Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.jails[c] = func() { _ = c.signal(unix.SIGKILL) } // an error means that it has ended
	return nil
}

func (r *Runner) forget(c *Cmd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jails, c)
}

// confirm waits for the first report: the failed operation, or the payload's start.
func (c *Cmd) confirm() error {
	c.startWatch()
	for {
		rep, master, err := c.receive()
		if master != nil {
			c.attachTerminal(master)
			continue
		}
		switch {
		case err == nil && rep.Type == stage.ReportExec, errors.Is(err, errNoReport) && c.Spec.NoInit:
			c.mark(5)
			c.state.running.Store(true)
			c.watchPayload()
			c.startCopies()
			return nil
		case err == nil && rep.Type == stage.ReportFail:
			err = c.setupError(rep)
		case err == nil && rep.Type == stage.ReportExit: // cannot be: ReportExec comes first
			err = &Error{Fault: FaultBrig, Op: "report", Detail: "out of order"}
		case cause(c.state.cause.Load()) != notEnded:
			err = c.interrupted()
		default:
			err = c.killedEarly()
		}
		_ = c.signal(unix.SIGKILL)
		_, _, werr := c.waitPid()
		c.unwatch()
		return errors.Join(c.abandon(err), werr)
	}
}

// interrupted is the error for a jail that its own keeper has ended while it was being made.
func (c *Cmd) interrupted() error {
	switch cause(c.state.cause.Load()) {
	case endedWall:
		return &Error{Fault: FaultHost, Op: "set-up", Detail: "took longer than the wall-clock limit", Remedy: "raise --timeout"}
	case endedCancel:
		return c.ctx.Err()
	}
	return c.killedEarly()
}

// killedEarly is the error for a first process that somebody has killed before the payload started.
func (c *Cmd) killedEarly() error {
	if c.group != nil && c.group.OOMKills() > 0 {
		return &Error{Fault: FaultCaller, Op: "limits.memory", Detail: "it is too little to make the jail in: out of memory before the payload started", Remedy: "raise it: a jail takes some 300 KiB for itself"}
	}
	return &Error{Fault: FaultHost, Op: "set-up", Detail: "the jail's first process was killed before the payload started", Remedy: "look for an out-of-memory kill in the kernel log"}
}

// abandon closes what a failed start has left open.
func (c *Cmd) abandon(err error) error {
	if c.pidfd != nil {
		c.runner.forget(c)
		c.pidfd.Close()
	}
	c.report.Close()
	for _, f := range c.closers {
		f.Close()
	}
	return errors.Join(err, c.endGroup())
}

// reportSocket is a pair whose far end only the jail's init will hold.
func reportSocket() (ours *os.File, jail int, err error) {
	sv, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, &Error{Fault: FaultHost, Op: "socketpair", Detail: err.Error(), Remedy: "raise the limit on open files (ulimit -n)"}
	}
	if err := unix.SetNonblock(sv[0], true); err != nil {
		closeAll(sv[:])
		return nil, -1, err
	}
	return os.NewFile(uintptr(sv[0]), "report"), sv[1], nil
}
