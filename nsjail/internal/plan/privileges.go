package plan

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

func (r *resolver) prctl(op int, name string, arg program.Arg) {
	r.Jail.Add("caps", unix.SYS_PRCTL, program.Named(op, name), arg, program.Int(0), program.Int(0), program.Int(0))
}

// dropBoundingSet empties the bounding and the ambient set and locks the securebits. The process keeps its
// capabilities, and no execve(2) can add one.
func (r *resolver) dropBoundingSet() {
	for c := 0; c <= r.Host.LastCap; c++ {
		r.prctl(unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP", program.Int(c))
	}
	r.prctl(unix.PR_CAP_AMBIENT, "PR_CAP_AMBIENT",
		program.Named(unix.PR_CAP_AMBIENT_CLEAR_ALL, "PR_CAP_AMBIENT_CLEAR_ALL"))
	// SECBIT_NOROOT, _NO_SETUID_FIXUP, _NO_CAP_AMBIENT_RAISE and the locks of all four
	r.prctl(unix.PR_SET_SECUREBITS, "PR_SET_SECUREBITS", program.Named(0xef, "0xef /* all locked */"))
}

// dropCapabilities drops all capabilities of the process. After dropBoundingSet it cannot regain any: capabilities(7).
func (r *resolver) dropCapabilities() {
	r.Jail.Add("caps", unix.SYS_CAPSET, CapHeader(), program.Struct(make([]byte, 24), program.Text("{0, 0, 0}")))
	r.prctl(unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS", program.Int(1))
}

// CapHeader returns a struct __user_cap_header_struct: capget(2).
func CapHeader() program.Arg {
	hdr := make([]byte, 8)
	binary.NativeEndian.PutUint32(hdr, unix.LINUX_CAPABILITY_VERSION_3)
	return program.Struct(hdr, program.Text("{_LINUX_CAPABILITY_VERSION_3, 0}"))
}

// filter loads the seccomp filters: seccomp(2), Linux 3.17. It sets RLIMIT_CORE before, since they forbid that.
func (r *resolver) filter() {
	r.rlimit("core", unix.RLIMIT_CORE)
	if r.Host.Guard != nil {
		r.loadFilter(r.Host.Guard, 0)
	}
	if r.Host.Guard != nil && r.Spec.Tier == "" {
		r.Notes = append(r.Notes, r.guardNote())
	}
	if r.Spec.Seccomp == "unconfined" {
		if slices.Contains(r.Spec.Require, "seccomp") {
			r.fail(spec.CallerError("seccomp", "it is required and unconfined", "drop one of the two"))
		}
		r.Enforced["seccomp"] = "not enforced: unconfined was asked for"
		r.Enforced["sockets"] = "not enforced: no filter"
		return
	}
	name := cmp.Or(r.Spec.Seccomp, "default")
	by := fmt.Sprintf("%s, %d instructions", name, len(r.Host.Filter)/8)
	if !r.require("seccomp", by, r.Host.Missing["seccomp"], "") {
		return
	}
	if name == "default" && r.Spec.Tier == "" {
		r.Enforced["sockets"] = "seccomp: AF_UNIX, AF_INET, AF_INET6, NETLINK_ROUTE; no host socket below a bind"
	}
	if r.Spec.NoInit {
		r.Notes = append(r.Notes, "without init refused calls are not counted")
	}
	if r.Heard == nil {
		r.loadFilter(r.Host.Filter, r.Host.FilterFlags)
		return
	}
	// init is the listener (seccomp_unotify(2), Linux 5.0). Its descriptor gets the lowest free number, which must be
	// below the payload's own limit if that is already set. The descriptor that has this number is no longer needed.
	if !r.shape.filterFirst {
		r.Jail.Add("fds", unix.SYS_CLOSE, program.Int(MinFiles-1)).May(unix.EBADF)
	}
	r.loadFilter(r.Heard, r.Host.FilterFlags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER).Save = r.listener
}

// guardNote describes what the guard refuses: seccomp.GuardFilter.
func (r *resolver) guardNote() string {
	note := "a filter of brig's own refuses what the default filter refuses for its arguments"
	if host.WritesHost(r.Spec) {
		note += ", and what makes or could make files with S_ISUID or S_ISGID (openat2(2) and io_uring too), since the " +
			"payload may write to the host's files"
	}
	return note
}

func (r *resolver) loadFilter(filter []byte, flags uint) *program.Op {
	prog := make([]byte, 16) // struct sock_fprog
	binary.NativeEndian.PutUint16(prog, uint16(len(filter)/8))
	return r.Jail.Add("seccomp", unix.SYS_SECCOMP,
		program.Named(unix.SECCOMP_SET_MODE_FILTER, "SECCOMP_SET_MODE_FILTER"), filterFlags(flags),
		program.Struct(prog, showFilter).WithPointer(8, filter))
}

func filterFlags(flags uint) program.Arg {
	if flags == unix.SECCOMP_FILTER_FLAG_NEW_LISTENER {
		return program.Named(int(flags), "SECCOMP_FILTER_FLAG_NEW_LISTENER")
	}
	return program.Int(int(flags))
}

func showFilter(b []byte) string {
	return fmt.Sprintf("{%d instructions}", binary.NativeEndian.Uint16(b))
}

// MinFiles is the smallest limit on open files that leaves a descriptor for the listener beside the standard streams.
const MinFiles = 4

// listen makes init the listener of the payload's filter. Init then answers the calls that the filter refuses with
// EPERM and counts them, and it reports by name a call for which the filter kills. If that is not possible, the kernel
// does both, and the calls stay unknown.
func (r *resolver) listen() {
	h := r.Host
	if r.Spec.NoInit || r.Spec.Seccomp == "unconfined" || h.Missing["seccomp"] != "" {
		return
	}
	heard, changed := seccomp.NotifyDenials(h.Filter)
	if r.Counted = changed && !h.FilterKills; !r.Counted {
		kills, does := seccomp.NotifyKills(h.Filter)
		if !bytes.Equal(kills, heard) {
			r.Notes = append(r.Notes, "refused calls are not counted: the profile also kills")
		}
		heard, changed = kills, does
	}
	if !changed {
		return
	}
	why := h.NoListener
	if startNotifies(heard) {
		why = "the profile kills for or refuses execve or exit_group, which the start of a payload needs"
	}
	if l, ok := r.Spec.Limits.Rlimits["nofile"]; ok && l.Soft >= 0 && l.Soft < MinFiles {
		why = fmt.Sprintf("the limit of %d open files leaves no room for a listener", l.Soft)
	}
	if why != "" {
		r.Counted = false
		r.Notes = append(r.Notes, "a violation of the filter will not be named, and refused calls are not counted: "+why)
		return
	}
	r.Heard = heard
	r.listener = r.Jail.Reserve()
}

// startNotifies reports whether a filter notifies its listener of calls for which init waits and so could not answer.
func startNotifies(heard []byte) bool {
	return slices.ContainsFunc([]int32{unix.SYS_EXECVE, unix.SYS_EXIT_GROUP}, func(nr int32) bool {
		return seccomp.Simulate(heard, seccomp.Data{Nr: nr, Args: [6]uint64{125}}) == seccomp.Notify
	})
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
	} else if r.Counted {
		args = append(args, program.Int(0))
	}
	if r.Counted {
		args = append(args, program.Named(int(seccomp.NativeAudit()), "EPERM /* what init answers */"))
	}
	if r.Counted && r.Spec.Seccomp == "debug" {
		args = append(args, program.Named(launcher.InitTraces, "1 /* process may trace exits */"))
	}
	if n := r.Mode.Terminal; n > 0 {
		mode := 0
		if len(args) == 6 {
			mode = launcher.InitTraces
		}
		for len(args) < 5 {
			args = append(args, program.Int(0))
		}
		slot := int(r.Stdio) + n - 1
		args = append(args[:5], program.Named(mode|slot<<launcher.InitTerminal,
			fmt.Sprintf("%d | %d << 8 /* the slot of the terminal */", mode, slot)))
	}
	return args
}
