package nsjail

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// setupError returns the error for a failed operation of the jail, with its name and remedy.
func (c *Cmd) setupError(rep launcher.Report) error {
	op, of := c.plan.Op(rep.A)
	if op == nil {
		return &spec.Error{Fault: spec.FaultBrig, Op: "program", Detail: "ended without execve(2)"}
	}
	e := &spec.Error{Fault: spec.FaultHost, Step: rep.A + 1, Of: of, Op: op.Label, Detail: op.Call(),
		Errno: syscall.Errno(rep.B)}
	if op.Label == spec.OpExec {
		return c.execError(e)
	}
	e.Fault, e.Remedy = doctor.Remedy(op.Label, e.Detail, e.Errno)
	if c.Spec.Rootfs.Path != "" && slices.Contains([]string{"dev", "proc", "scratch"}, op.Label) &&
		slices.Contains([]syscall.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EROFS}, e.Errno) {
		e.Fault, e.Remedy = spec.FaultCaller, "the tree of --rootfs has no such directory, or a link there that leads "+
			"nowhere in it; mend the tree"
		return e
	}
	return doctor.Blame(e)
}

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
	e := &spec.Error{Fault: spec.FaultHost, Op: "clone3", Detail: strings.Join(plan.FlagNames(p.Flags), "|"),
		Errno: oe.Errno}
	row, known := cloneErrors()[oe.Errno]
	if !known {
		row.remedy = "`brig doctor` checks this machine"
	}
	if e.Remedy = row.remedy; row.group != "" {
		e.Op, e.Detail = "cgroup", "clone3 into the control group: "+row.group
	}
	return doctor.Blame(e)
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

// tooLarge returns the error for a program of more than program.SizeError allows.
func tooLarge(err error) error {
	return spec.CallerError("plan", err.Error(), "make the arguments or files smaller")
}
