package plan

import (
	"fmt"
	"strconv"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// MinFiles is the smallest limit on open files that leaves a descriptor for the listener beside the standard streams.
const MinFiles = 4

// listen makes init the listener of the payload's filter, if the filter kills for any call. Init then reports such a
// call by name. If that is not possible, the kernel kills the process, and the call stays unknown.
func (r *resolver) listen() {
	h := r.Host
	heard, changed := seccomp.NotifyKills(h.Filter)
	if r.Spec.NoInit || r.Spec.Seccomp == "unconfined" || h.Missing["seccomp"] != "" || !changed {
		return
	}
	why := h.NoListener
	for _, nr := range []int{unix.SYS_EXECVE, unix.SYS_EXIT_GROUP} { // init waits for these calls and could not answer
		if seccomp.Simulate(heard, seccomp.Data{Nr: int32(nr), Args: [6]uint64{125}}) == seccomp.Notify {
			why = "the profile kills for execve or exit_group, which the start of a payload needs"
		}
	}
	if l, ok := r.Spec.Limits.Rlimits["nofile"]; ok && l.Soft >= 0 && l.Soft < MinFiles {
		why = fmt.Sprintf("the limit of %d open files leaves no room for a listener", l.Soft)
	}
	if why != "" {
		r.Notes = append(r.Notes, "a violation of the filter will not be named: "+why)
		return
	}
	r.Heard = heard
	r.listener = r.Jail.Reserve()
}

// forkArgs returns the arguments of program.Fork. own is the number of operations that init performs after the fork.
func (r *resolver) forkArgs(own int) []program.Arg {
	listener := program.Int(0)
	if r.Heard != nil {
		listener = program.Named(int(r.listener), "&$"+strconv.Itoa(int(r.listener)))
	}
	args := []program.Arg{launcher.SlotReport.Arg(), listener, program.Int(len(r.Disks))}
	if own > 0 {
		args = append(args, program.Named(own, fmt.Sprintf("%d /* operations that follow: init's, at the same time */", own)))
	}
	return args
}
