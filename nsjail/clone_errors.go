package nsjail

import (
	"errors"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// cloneError explains why the launcher could not create the namespaces.
func cloneError(p *plan.Plan, err error) error {
	var oe *launcher.OpError
	if errors.Is(err, unix.EFBIG) {
		return &spec.Error{Fault: spec.FaultHost, Op: "launcher", Detail: err.Error(),
			Remedy: "the limit on file sizes is too low for brig itself; raise it with ulimit -f, and bound the payload by " +
				"--ulimit fsize"}
	}
	var size program.SizeError
	if errors.As(err, &size) {
		return tooLarge(err)
	}
	if !errors.As(err, &oe) {
		return &spec.Error{Fault: spec.FaultBrig, Op: "launcher", Detail: err.Error()}
	}
	return namespaceError(p.Flags, oe.Errno, p.Group != nil && p.Group.V2() > 0, p.Host)
}

// namespaceError explains a failed clone3(2), into a control group of version 2 or not.
func namespaceError(flags uint64, errno syscall.Errno, intoGroup bool, h *host.Host) error {
	e := &spec.Error{Fault: spec.FaultHost, Op: "clone3", Detail: strings.Join(plan.FlagNames(flags), "|"), Errno: errno}
	row, known := cloneErrors()[errno]
	switch {
	case intoGroup && row.group != "":
		e.Op, e.Detail, e.Remedy = "cgroup", "clone3 into the control group: "+row.group, row.remedy
	case errno == unix.EACCES: // of a security module
		e.Remedy = cloneErrors()[unix.EPERM].remedy
	case known && row.group == "":
		e.Remedy = row.remedy
	default:
		e.Remedy = "`brig doctor` checks this machine"
	}
	return doctor.OrTier(doctor.Blame(e), h)
}

type cloneFailure struct {
	remedy string
	group  string // what is wrong with the control group; "" if it is something else
}

func cloneErrors() map[syscall.Errno]cloneFailure {
	const seeWho = "see who else writes below brig's group"
	return map[syscall.Errno]cloneFailure{
		unix.EPERM:  {remedy: "user namespaces are forbidden here; `brig doctor` tells by what"},
		unix.ENOSPC: {remedy: "a limit of user.max_*_namespaces is reached (namespaces(7)); raise it with sysctl"},
		unix.EAGAIN: {remedy: "the limit on processes is reached (ulimit -u)"},
		unix.EUSERS: {remedy: "user namespaces are nested 32 deep already"},
		unix.ENOSYS: {remedy: "an outer filter hides clone3(2); give the outer container a newer seccomp profile"},
		unix.EACCES: {"start brig inside the group that is delegated to you, or drop --cgroup-parent", "its parent and " +
			"brig's own group have no common ancestor that is yours to write (cgroups(7), delegation containment)"},
		unix.EBUSY:  {seeWho, "somebody has made it a parent of groups with controllers"},
		unix.ENODEV: {seeWho, "somebody has removed it"},
	}
}
