package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"brig/cgroup"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// sweepMost bounds how many groups of others a start looks at; `brig gc` looks at all.
const sweepMost = 64

// makeGroup makes the control group of the plan, and gives the descriptors that the jail and the launcher need of it,
// in the order of groupSlots. into says that the last is for CLONE_INTO_CGROUP.
func makeGroup(p *plan.Plan) (g *cgroup.Group, fds []int, into bool, err error) {
	if p.Group == nil {
		return nil, nil, false, nil
	}
	if g, err = p.Group.Create(); err != nil {
		return nil, nil, false, groupError(err)
	}
	if fds, err = g.Tasks(); err != nil {
		return g, fds, false, &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: err.Error()}
	}
	if p.Group.V2() == 0 {
		return g, fds, false, nil
	}
	if fd := g.Into(); fd >= 0 {
		fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return g, fds, false, os.NewSyscallError("fcntl", err)
		}
		return g, append(fds, fd), true, nil
	}
	null, err := run.OpenNull() // it could not be made, and limits nothing
	return g, append(fds, null), false, err
}

// watchOOM ends the jail with the first process that it loses for want of memory, where the kernel does not do so
// itself.
func (c *Cmd) watchOOM() (err error) {
	if l := &c.Spec.Limits; c.group == nil || l.Memory == 0 || l.NoOOMGroup {
		return nil
	}
	if c.stopOOM, err = c.group.WatchOOM(func() { c.endFor(endedMemory) }); err != nil {
		return &spec.Error{Fault: spec.FaultHost, Op: "limits.memory", Detail: "control group: cannot watch for kills: " +
			err.Error(), Remedy: "let them hit one process only: --no-oom-group"}
	}
	if c.stopOOM != nil && c.group.OOMKills() > 0 { // before the watch
		c.endFor(endedMemory)
	}
	return nil
}

// groupError puts a failed step into the words of the Spec.
func groupError(err error) error {
	var s *cgroup.StepError
	if !errors.As(err, &s) {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: err.Error()}
	}
	e := &spec.Error{Fault: spec.FaultHost, Op: "cgroup",
		Detail: fmt.Sprintf("control group: %s (step %d of %d)", s.Op, s.Step, s.Of), Remedy: s.Remedy}
	if s.Mechanism != "" {
		e.Op = plan.GroupPath(s.Mechanism)
	}
	if !errors.As(s.Err, &e.Errno) || s.Err != error(e.Errno) {
		e.Detail, e.Errno = e.Detail+": "+s.Err.Error(), 0
	}
	if slices.Contains([]syscall.Errno{unix.EINVAL, unix.ERANGE, unix.ENODEV, unix.EOPNOTSUPP}, e.Errno) {
		e.Fault = spec.FaultCaller
	}
	return e
}

// cloneIntoError explains why the launcher could not put the jail into its group.
func cloneIntoError(e *spec.Error) error {
	switch e.Errno {
	case unix.EACCES:
		e.Fault, e.Op = spec.FaultHost, "cgroup"
		e.Detail = "clone3 into the control group: its parent and brig's own group have no common ancestor that is yours " +
			"to write (cgroups(7), delegation containment)"
		e.Remedy = "start brig inside the group that is delegated to you, or drop --cgroup-parent"
	case unix.EBUSY:
		e.Op, e.Detail, e.Remedy = "cgroup", "clone3 into the control group: somebody has made it a parent of groups "+
			"with controllers", "see who else writes below brig's group"
	case unix.ENODEV:
		e.Op, e.Detail, e.Remedy = "cgroup", "clone3 into the control group: somebody has removed it",
			"see who else writes below brig's group"
	}
	return doctor.Blame(e)
}

// endGroup reads what the group has counted, ends what is left in it, and removes it.
func (c *Cmd) endGroup() error {
	if c.group == nil {
		return nil
	}
	g := c.group
	var stopped error
	if c.stopOOM != nil {
		stopped = c.stopOOM()
	}
	c.state.stats = g.Read()
	populated, err := g.Populated()
	if err == nil && populated { // cannot be, after the pid namespace has gone; but it is what a group is for
		err = g.Kill()
	}
	if err = errors.Join(err, stopped, g.Remove()); err != nil {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: err.Error()}
	}
	return nil
}

// sweepGroups removes what killed keepers of this user have left, once for each runner. What cannot be removed is
// theirs to tell who asks: CollectGroups.
func (r *Runner) sweepGroups(l *cgroup.Layout) {
	r.mu.Lock()
	done := r.swept
	r.swept = true
	r.mu.Unlock()
	if !done {
		_, _, _ = l.Sweep(sweepMost)
	}
}

// Freeze stops all processes of a running jail, or lets them go on. It needs a control group: a Spec with a limit that
// has made one. The wall clock goes on.
func (c *Cmd) Freeze(on bool) error {
	switch {
	case !c.state.running.Load():
		return errors.New("nsjail: Freeze before a successful Start")
	case c.state.done.Load():
		return os.ErrProcessDone
	case c.group == nil:
		return errors.New("nsjail: the jail has no control group to freeze; set a limit that needs one")
	}
	c.frozen.Store(on)
	err := c.group.Freeze(on)
	if on && cause(c.state.cause.Load()) != notEnded { // the end has begun in between, and must not wait for us
		return errors.Join(os.ErrProcessDone, c.group.Freeze(false))
	}
	return err
}

// ControlGroup gives the directories of the jail's control group, between Start and Wait: the version 2 one, or "", and
// those of version 1 by controller; for brig/cgroup/monitor. Both are empty for a jail without a group.
func (c *Cmd) ControlGroup() (v2 string, v1 map[string]string) {
	if c.group == nil {
		return "", nil
	}
	return c.group.Dirs()
}
