package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"brig/cgroup"
	"brig/internal/words"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

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
		return g, fds, false, &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: words.Plain(err.Error())}
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

// groupError converts a failed step into an error that names the field of the Spec.
func groupError(err error) error {
	var s *cgroup.StepError
	if !errors.As(err, &s) {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: words.Plain(err.Error())}
	}
	e := spec.HostError("cgroup", fmt.Sprintf("control group: %s (step %d of %d)", s.Op, s.Step, s.Of), s.Remedy)
	if s.Mechanism != "" {
		e.Op = plan.GroupPath(s.Mechanism)
	}
	if !errors.As(s.Err, &e.Errno) || s.Err != error(e.Errno) {
		e.Detail, e.Errno = e.Detail+": "+words.Plain(s.Err.Error()), 0
	}
	if slices.Contains([]syscall.Errno{unix.EINVAL, unix.ERANGE, unix.ENODEV, unix.EOPNOTSUPP}, e.Errno) {
		e.Fault = spec.FaultCaller
	}
	return e
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
