package nsjail

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// cloneError explains why the launcher could not create the namespaces.
func cloneError(p *plan.Plan, err error) error {
	var oe *launcher.OpError
	if errors.Is(err, unix.EFBIG) {
		return &spec.Error{Fault: spec.FaultHost, Op: "launcher", Detail: words.Plain(err.Error()),
			Remedy: "the limit on file sizes is too low for brig itself; raise it with ulimit -f, and bound the payload by " +
				words.Set("ulimit", "fsize")}
	}
	if _, ok := errors.AsType[program.SizeError](err); ok {
		return tooLarge(err)
	}
	if !errors.As(err, &oe) {
		return &spec.Error{Fault: spec.FaultBrig, Op: "launcher", Detail: words.Plain(err.Error())}
	}
	return namespaceError(p.Flags, oe.Errno, p.Group != nil && p.Group.V2() > 0, p.Host)
}

// namespaceError explains a failed clone3(2), into a control group of version 2 or not.
func namespaceError(flags uint64, errno syscall.Errno, intoGroup bool, h *host.Host) error {
	e := spec.HostError("clone3", strings.Join(plan.FlagNames(flags), "|"), "")
	if intoGroup && slices.Contains([]syscall.Errno{unix.EACCES, unix.EBUSY, unix.ENODEV}, errno) {
		e.Op, e.Detail = "cgroup", "clone3 into the control group"
	}
	e.Errno = errno
	e.Fault, e.Remedy = doctor.Remedy(e.Op, e.Detail, errno)
	return doctor.OrTier(doctor.Blame(e), h)
}
