package nsjail

import (
	"context"
	"os"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ordered"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// CommandOrdered returns a Cmd for a jail that is described in steps, as bubblewrap's are. Its payload has what the
// caller has: the streams, the descriptors, the environment, the session. spawned, if not nil, is called with the pid
// of the jail's first process, which then waits for its return (steps.Jail.Waits).
//
// The Runner must be a ForkedRunner with a launcher that stays what its caller is: brig_launcher_wanted returns 2, or
// 3 for one that can also wait for the payload (Leave). It makes one jail.
func (r *Runner) CommandOrdered(j *steps.Jail, spawned func(pid int) error) *Cmd {
	s := spec.Spec{Args: j.Args, Limits: j.Limits, Net: j.Net.Net, Egress: j.Net.Egress, Seccomp: j.Net.Seccomp}
	if j.Waits = spawned != nil; s.Seccomp == "" {
		s.Seccomp = "unconfined"
	}
	return &Cmd{Spec: s, runner: r, ctx: context.Background(), ordered: j, spawned: spawned}
}

// startOrdered creates an ordered jail.
func (c *Cmd) startOrdered() error {
	if err := host.SameIDs(); err != nil { // it is not forked then
		return err
	}
	if !c.runner.launcher.Forked {
		return spec.HostError("launcher", "it could not be forked before the program started",
			"raise the limits on processes and open files (ulimit -u, ulimit -n)")
	}
	h, err := c.lookBounds()
	if err != nil {
		return err
	}
	defer h.Close()
	facts, err := ordered.Look(c.ordered, h, c.runner.launcher.Pid())
	if err != nil {
		return err
	}
	c.mark(momentLooked)
	p, err := plan.Bounds(&c.Spec, h)
	if err == nil {
		if c.ordered.Filters, err = c.filters(h); err == nil {
			c.plan, err = ordered.Resolve(c.ordered, facts, p)
		}
	}
	if err != nil {
		return err
	}
	c.mark(momentPlanned)
	j := &jail{}
	if c.plan.Drop != nil {
		if err := launcher.Perform(c.runner.launcher, "namespaces", c.plan.Drop); err != nil {
			return err
		}
		c.plan.Drop = nil
	}
	if err := c.runner.spawn(j, c.plan, c, nil); err != nil {
		return c.abandon(err)
	}
	c.mark(momentSpawned)
	c.jail = *j
	if c.Spec.NoInit && !c.plan.Stays { // the launcher guards the jail, and must hold no descriptor of the caller's
		if err := closeAll(c.runner.launcher, facts.Inherited); err != nil {
			return c.undo(err)
		}
	}
	if c.spawned != nil {
		err := c.spawned(c.pid)
		if err == nil {
			_, err = c.report.Write([]byte{0})
		}
		if err != nil {
			return c.undo(err)
		}
	}
	return c.follow()
}

// closeAll closes descriptors in a launcher but the standard streams, which this process holds, too.
func closeAll(l *launcher.Launcher, fds []int) error {
	p := program.New(int(launcher.SlotUser))
	for _, fd := range fds {
		if fd > 2 {
			p.Add("descriptors", unix.SYS_CLOSE, program.Int(fd))
		}
	}
	return launcher.Perform(l, "descriptors", p)
}

// Leave hands the payload to the process that the caller has started, if that is this one's parent, and reports whether
// it is. That process then ends as the payload does, and this one has to exit.
func (c *Cmd) Leave() (bool, error) {
	if !c.runner.launcher.Parent {
		return false, nil
	}
	err := sys.Control(c.report, func(fd int) error {
		if err := unix.SetNonblock(fd, false); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		return c.runner.launcher.Leave(fd)
	})
	if err == nil {
		c.runner.forget(c)
	}
	return err == nil, err
}

// lookBounds reads what the limits, the network and the filter of an ordered jail need of the machine.
func (c *Cmd) lookBounds() (*host.Host, error) {
	if c.ordered.Bounded() || c.Spec.Seccomp != "unconfined" {
		s := c.Spec
		s.NoInit = !c.ordered.HasInit() // so that a payload that is process 1 may set its own priority
		return host.Look(&s)
	}
	return host.LookVersion()
}

// filters returns the filters of an ordered jail, the first to load first: brig's own, that of a profile, the caller's.
func (c *Cmd) filters(h *host.Host) (list [][]byte, err error) {
	own, err := seccomp.OpenFilter()
	if err != nil {
		return nil, err
	}
	if list = append(list, own); h.Filter != nil {
		list = append(list, h.Filter)
	}
	return append(list, c.ordered.Filters...), nil
}
