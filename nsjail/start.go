package nsjail

import (
	"context"
	"errors"
	"os"
	"time"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Start creates the jail and starts the command. When it returns nil, the command's execve(2) has succeeded.
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
	c.mark(momentStarted)
	if c.ownsRunner {
		if c.runner, err = newBareRunner(); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, c.runner.Close())
			}
		}()
	}
	if problems := c.Spec.Check(); len(problems) > 0 {
		return problems[0].AsError()
	}
	if err := c.runner.enter(c.ctx); err != nil {
		return err
	}
	if err = c.runner.start(); err == nil {
		err = c.begin()
		c.runner.starts.Done()
	}
	if err != nil {
		err = errors.Join(err, c.removeGhosts())
		c.runner.leave()
	}
	return err
}

// begin takes a parked payload if there is one. Otherwise it starts the jail in the prepared root if the Runner and the
// Spec allow it, or from the host's root.
func (c *Cmd) begin() (err error) {
	if c.Handover != nil {
		if taken, err := c.takePayload(); taken {
			return err
		}
	}
	c.Spec.Egress = c.Spec.Egress.Clone() // the caller may change its own
	if c.network, err = openNetwork(&c.Spec, c.NetworkLog); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.network.close()
		}
	}()
	if c.ordered != nil {
		return c.startOrdered()
	}
	if c.runner.tree != nil && preparable(&c.Spec) && c.edit == nil && terminalOf(c) == 0 {
		return c.startWarm()
	}
	return c.startCold()
}

// startCold creates the jail from the host's root.
func (c *Cmd) startCold() (err error) {
	host, err := host.LookWithin(c.ctx, setUpEnd(c), &c.Spec)
	if err != nil {
		return err
	}
	defer host.Close()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.dropChanges())
		}
	}()
	cold, err := c.runner.coldRunner(host.Owner)
	if err != nil {
		return err
	}
	if err := errors.Join(c.runner.volumes.look(&c.Spec, host), c.openStores(host), c.makeGhosts(host)); err != nil {
		return err
	}
	j := &jail{}
	if err := c.create(j, cold, host); err != nil {
		return err
	}
	c.mark(momentSpawned)
	c.jail = *j
	return c.follow()
}

// setUpEnd returns when the time of a jail that is being made is over, or the zero time if that is not bounded.
func setUpEnd(c *Cmd) (end time.Time) {
	if wall := time.Duration(c.Spec.Limits.Wall); wall > 0 {
		end = c.marks[momentStarted].Add(wall)
	}
	return end
}

// create plans the jail and creates its first process.
func (c *Cmd) create(j *jail, cold *Runner, host *host.Host) (err error) {
	if j.first, err = cold.begin(); err != nil {
		return err
	}
	if j.first {
		defer cold.first.Unlock()
	}
	mode := cold.mode()
	mode.Terminal = terminalOf(c)
	if c.runner.why != "" {
		mode.Note = "made from the host's tree, which takes longer: " + c.runner.why
	}
	c.mark(momentLooked)
	if c.plan, err = mode.ResolveChecked(&c.Spec, host); err != nil {
		return err
	}
	if c.edit != nil {
		c.edit(c.plan)
	}
	c.mark(momentPlanned)
	if err := cold.spawn(j, c.plan, c, nil); err != nil {
		return c.abandon(err)
	}
	return nil
}

// follow registers the jail with its Runner, watches for memory kills, and waits for the payload's start. A jail whose
// set-up fails is killed, and its resources are released.
func (c *Cmd) follow() error {
	err := c.runner.register(c)
	if err == nil && !c.parked {
		err = c.watchOOM()
	}
	if err == nil {
		err = c.confirm()
	}
	if err == nil {
		return nil
	}
	return c.undo(err)
}

// undo kills the jail and releases everything.
func (c *Cmd) undo(err error) error {
	c.kill()
	_, _, werr := c.waitPid(endWait)
	c.unwatch()
	return errors.Join(c.abandon(err), werr)
}

func (r *Runner) register(c *Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return os.ErrClosed
	}
	r.jails[c] = true
	return nil
}

func (r *Runner) forget(c *Cmd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jails, c)
}

// confirm waits for the first report: a failed operation, or the payload's start. A parked payload has no clocks.
func (c *Cmd) confirm() error {
	if !c.parked {
		c.startWatch()
	}
	rep, fds, err := c.receive()
	for len(fds) > 0 { // they come before the first report
		if err := c.receiveDescriptors(rep.A, fds); err != nil {
			return err
		}
		rep, fds, err = c.receive()
	}
	switch {
	case err == nil && rep.Type == launcher.ReportExec, errors.Is(err, errNoReport) && c.Spec.NoInit:
		if !c.parked {
			c.runs()
		}
		if c.from != nil { // free the program of a running jail; Plan encodes it again
			p := *c.plan
			p.Jail = nil
			c.plan = &p
		}
		return nil
	case err == nil && rep.Type == launcher.ReportFail:
		return c.setupError(rep)
	case err == nil: // impossible: ReportExec comes first
		return &spec.Error{Fault: spec.FaultBrig, Op: "report", Detail: "out of order"}
	}
	return c.interrupted()
}

// runs begins what follows the payload's start.
func (c *Cmd) runs() {
	c.mark(momentExecuted)
	c.state.running.Store(true)
	c.watchPayload()
	c.streams.Start(c.pidfd)
}

// receiveDescriptors handles descriptors from the jail: upper directories, which have a tag; the sockets of its
// network, if any; then its terminal.
func (c *Cmd) receiveDescriptors(tag int, fds []int) error {
	if tag == ops.TagUpper {
		return c.addChange(fds[0])
	}
	if c.network != nil && !c.network.serving {
		return c.network.serve(fds, c.plan.Sockets.List())
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return errors.Join(err, unix.Close(fds[0]))
	}
	c.streams.Attach(os.NewFile(uintptr(fds[0]), "ptmx"))
	return nil
}

// interrupted returns the error for a jail that the keeper ended during its set-up, or whose first process was killed
// before the payload started.
func (c *Cmd) interrupted() error {
	switch why := cause(c.state.cause.Load()); {
	case why == endedWall:
		return spec.HostError("set-up", "took longer than the wall-clock limit", "raise --timeout")
	case why == endedCancel:
		return c.ctx.Err()
	case c.group != nil && c.group.OOMKills() > 0:
		return &spec.Error{Fault: spec.FaultCaller, Op: "limits.memory",
			Detail: "it is too little to make the jail in: out of memory before the payload started",
			Remedy: "raise it: a jail takes some 400 KiB for itself"}
	}
	return spec.HostError("set-up", "the jail's first process was killed before the payload started",
		"look for an out-of-memory kill in the kernel log")
}

// abandon releases everything that a failed start has opened.
func (c *Cmd) abandon(err error) error {
	if c.pidfd != nil {
		c.runner.forget(c)
		c.pidfd.Close()
	}
	if c.report != nil {
		c.report.Close()
	}
	c.endStreams()
	err = errors.Join(err, c.dropChanges())
	c.net.Drop()
	c.net = nil
	c.network.close()
	return errors.Join(err, c.endGroup())
}
