package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"brig/cgroup"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// sweepMost is the number of other jails' groups that a start examines; `brig gc` examines all.
const sweepMost = 64

// makeGroup creates the planned control group. It returns the descriptors of it that the jail and the launcher need, in
// the order of groupSlots. into reports whether the last one is for CLONE_INTO_CGROUP.
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
	fd := g.Into()
	if into = fd >= 0; into {
		fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		err = os.NewSyscallError("fcntl", err)
	} else { // the version 2 group is optional and could not be created
		fd, err = run.OpenNull()
	}
	return g, append(fds, fd), into, err
}

// watchOOM ends the jail when the kernel kills one of its processes for lack of memory but not the others.
func (c *Cmd) watchOOM() (err error) {
	if l := &c.Spec.Limits; c.group == nil || l.Memory == 0 || l.NoOOMGroup {
		return nil
	}
	if c.stopOOM, err = c.group.WatchOOM(func() { c.endFor(endedMemory) }); err != nil {
		return spec.HostError("limits.memory", "control group: cannot watch for kills: "+err.Error(),
			"let them hit one process only: --no-oom-group")
	}
	if c.stopOOM != nil && c.group.OOMKills() > 0 { // a kill before the watch began
		c.endFor(endedMemory)
	}
	return nil
}

// groupError converts a failed step into an error that names the field of the Spec.
func groupError(err error) error {
	var s *cgroup.StepError
	if !errors.As(err, &s) {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: err.Error()}
	}
	e := spec.HostError("cgroup", fmt.Sprintf("control group: %s (step %d of %d)", s.Op, s.Step, s.Of), s.Remedy)
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

// endGroup reads the group's statistics, unless finish has, and removes it. No process can be left in it after the end
// of the pid namespace.
func (c *Cmd) endGroup() error {
	if c.group == nil {
		return nil
	}
	g := c.group
	var stopped error
	if c.stopOOM != nil {
		stopped = c.stopOOM()
	}
	if c.facts != nil && !c.counted {
		c.facts.group = g.Read()
	}
	if err := errors.Join(stopped, g.End()); err != nil {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: err.Error()}
	}
	return nil
}

// sweepGroups removes the groups left by killed keepers of this user, once for each Runner. It ignores errors.
func (r *Runner) sweepGroups(l *cgroup.Layout, parent string) {
	if r.swept.CompareAndSwap(false, true) && l.NeedsSweep(sweepMost) {
		if all, err := cgroup.Detect(parent); err == nil { // l has only the hierarchies that this jail needs
			_, _, _ = all.Sweep(sweepMost)
		}
	}
}

// Freeze stops all processes of a running jail, or resumes them. It needs a control group, which a jail has only if one
// of its limits requires it. The wall clock continues.
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
	if on && cause(c.state.cause.Load()) != notEnded { // the keeper is ending the jail; a frozen one would delay it
		return errors.Join(os.ErrProcessDone, c.group.Freeze(false))
	}
	return err
}

// ControlGroup returns the directories of the jail's control group, between Start and Wait: that of version 2, or "",
// and those of version 1 by controller. Both are empty for a jail without a group.
func (c *Cmd) ControlGroup() (v2 string, v1 map[string]string) {
	if c.group == nil {
		return "", nil
	}
	return c.group.Dirs()
}

// LiveUsage returns what the jail uses now, between Start and Wait: the figures of its control group. It returns nil
// for a jail without a group, and os.ErrProcessDone after the end of the jail.
func (c *Cmd) LiveUsage() (*cgroup.LiveUsage, error) {
	if c.group == nil {
		return nil, nil
	}
	if u := c.group.Live(); u != nil {
		return u, nil
	}
	return nil, os.ErrProcessDone
}

// CollectGroups removes the control groups that killed keepers of this user have left below parent, and kills the
// processes in them. parent is as in Spec.CgroupParent; "" is the caller's own group. busy is the number of groups that
// living keepers use.
func CollectGroups(parent string) (removed []string, busy int, err error) {
	l, err := cgroup.Detect(parent)
	if err != nil {
		return nil, 0, err
	}
	if why := l.Denied[""]; parent != "" && why != "" {
		return nil, 0, spec.CallerError("cgroup_parent", why, "name a group that exists and is yours")
	}
	return l.Sweep(0)
}
