package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// filter is the payload's seccomp filters.
type filter struct {
	core   []rlimit // RLIMIT_CORE, which the filters forbid to set
	guard  []byte   // brig's own beneath a profile, or nil
	load   []byte   // the profile, or nil
	flags  uint     // of seccomp(2), for the profile
	heard  bool     // init is the listener of the profile
	closes bool     // a descriptor is closed first, so that the listener's is below the payload's limit
}

// decideFilter decides the filters. heard is what init listens to, or nil. first is set if the filter is loaded before
// the run is known.
func decideFilter(in *input, heard []byte, first bool, out *report) (f filter) {
	h := in.host
	f.core, f.guard = decideRlimit(in, "core", unix.RLIMIT_CORE, out), h.Guard
	if h.Guard != nil && in.Tier == "" {
		out.note(words.Plain(guardNote(in.Spec)))
	}
	if in.Seccomp == "unconfined" {
		if slices.Contains(in.Require, "seccomp") {
			out.fail(spec.CallerError("seccomp", "it is required and unconfined", "drop one of the two"))
		}
		out.enforced["seccomp"] = "not enforced: unconfined was asked for"
		out.enforced["sockets"] = "not enforced: no filter"
		return f
	}
	name := cmp.Or(in.Seccomp, "default")
	by := fmt.Sprintf("%s, %d instructions", name, len(h.Filter)/8)
	if !out.require(in.Spec, "seccomp", words.Plain(by), h.Missing["seccomp"], "") {
		return f
	}
	if name == "default" && in.Tier == "" {
		out.enforced["sockets"] = "seccomp: AF_UNIX, AF_INET, AF_INET6, NETLINK_ROUTE; no host socket below a bind"
	}
	if in.NoInit {
		out.note("without init refused calls are not counted")
	}
	f.load, f.flags = h.Filter, h.FilterFlags
	if heard != nil {
		f.load, f.flags, f.heard, f.closes = heard, h.FilterFlags|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, true, !first
	}
	return f
}

// guardNote describes what the guard refuses: seccomp.GuardFilter.
func guardNote(s *spec.Spec) string {
	note := "a filter of brig's own refuses what the default filter refuses for its arguments"
	if host.WritesHost(s) {
		note += ", and what makes or could make files with S_ISUID or S_ISGID (openat2(2) and io_uring too), since the " +
			"payload may write to the host's files"
	}
	return note
}

// write loads the filters: seccomp(2), Linux 3.17. listener is the slot of init's descriptor.
func (f *filter) write(p *program.Program, listener program.Slot) {
	writeRlimits(p, f.core)
	if f.guard != nil {
		loadFilter(p, f.guard, 0)
	}
	// init is the listener (seccomp_unotify(2), Linux 5.0). Its descriptor gets the lowest free number, which must be
	// below the payload's own limit if that is already set. The descriptor that has this number is no longer needed.
	if f.closes {
		p.Add("fds", unix.SYS_CLOSE, program.Int(MinFiles-1)).May(unix.EBADF)
	}
	if f.load == nil {
		return
	}
	if op := loadFilter(p, f.load, f.flags); f.heard {
		op.Save = listener
	}
}

func loadFilter(p *program.Program, filter []byte, flags uint) *program.Op {
	shown := program.Int(int(flags))
	if flags == unix.SECCOMP_FILTER_FLAG_NEW_LISTENER {
		shown = program.Named(int(flags), "SECCOMP_FILTER_FLAG_NEW_LISTENER")
	}
	return p.Add("seccomp", unix.SYS_SECCOMP, program.Named(unix.SECCOMP_SET_MODE_FILTER, "SECCOMP_SET_MODE_FILTER"),
		shown, ops.Fprog(filter))
}

// MinFiles is the smallest limit on open files that leaves a descriptor for the listener beside the standard streams.
const MinFiles = 4

// listening is how init answers the calls that the payload's filter refuses, and which terminal it takes.
type listening struct {
	heard    []byte // the filter to which init listens; nil if the kernel kills
	counted  bool   // init answers EPERM and counts it, instead of the kernel
	traces   bool   // a process may trace init's exits
	terminal int    // Mode.Terminal
}

// decideListening makes init the listener of the payload's filter. Init then answers the calls that the filter refuses
// with EPERM and counts them, and it reports by name a call for which the filter kills. If that is not possible, the
// kernel does both, and the calls stay unknown.
func decideListening(in *input, out *report) (l listening) {
	h := in.host
	l.terminal = in.mode.Terminal
	if in.NoInit || in.Seccomp == "unconfined" || h.Missing["seccomp"] != "" {
		return l
	}
	heard, changed := seccomp.NotifyDenials(h.Filter)
	if l.counted = changed && !h.FilterKills; !l.counted {
		kills, does := seccomp.NotifyKills(h.Filter)
		if !bytes.Equal(kills, heard) {
			out.note("refused calls are not counted: the profile also kills")
		}
		heard, changed = kills, does
	}
	if !changed {
		return l
	}
	if why := noListener(in, heard); why != "" {
		l.counted = false
		out.note(words.Plain("a violation of the filter will not be named, and refused calls are not counted: " + why))
		return l
	}
	l.heard, l.traces = heard, l.counted && in.Seccomp == "debug"
	return l
}

// noListener returns why init cannot listen to a filter, or "".
func noListener(in *input, heard []byte) string {
	if l, ok := in.Limits.Rlimits["nofile"]; ok && l.Soft >= 0 && l.Soft < MinFiles {
		return fmt.Sprintf("the limit of %d open files leaves no room for a listener", l.Soft)
	}
	if startNotifies(heard) {
		return "the profile kills for or refuses execve or exit_group, which the start of a payload needs"
	}
	return in.host.NoListener
}

// startNotifies reports whether a filter notifies its listener of calls for which init waits and so could not answer.
func startNotifies(heard []byte) bool {
	return slices.ContainsFunc([]int32{unix.SYS_EXECVE, unix.SYS_EXIT_GROUP}, func(nr int32) bool {
		return seccomp.Simulate(heard, seccomp.Data{Nr: nr, Args: [6]uint64{125}}) == seccomp.Notify
	})
}

// fork creates the payload's process and returns the slot of the listener. args completes the operation. stdio is the
// slot of the first stream.
func (l *listening) fork(p *program.Program, stdio program.Slot) (listener program.Slot) {
	if l.heard != nil {
		listener = p.Reserve()
	}
	if l.terminal > 0 { // of init's session: ENOTTY where no terminal could be opened
		ops.ControlTerminal(p, (stdio + program.Slot(l.terminal-1)).Arg()).May(unix.ENOTTY)
	}
	p.Add("init", program.Fork)
	return listener
}

// args returns the arguments of program.Fork. own is the number of operations that init performs after the fork, and
// disks that of the file systems that it holds.
func (l *listening) args(own, disks int, listener, stdio program.Slot) []program.Arg {
	to := program.Int(0)
	if l.heard != nil {
		to = program.Named(int(listener), "&$"+strconv.Itoa(int(listener)))
	}
	args := []program.Arg{launcher.SlotReport.Arg(), to, program.Int(disks)}
	if own > 0 {
		args = append(args, program.Named(own, fmt.Sprintf("%d /* operations that follow: init's, at the same time */", own)))
	} else if l.counted {
		args = append(args, program.Int(0))
	}
	if l.counted {
		args = append(args, program.Named(int(seccomp.NativeAudit()), "EPERM /* what init answers */"))
	}
	if l.traces {
		args = append(args, program.Named(launcher.InitTraces, "1 /* process may trace exits */"))
	}
	if l.terminal > 0 {
		mode := 0
		if len(args) == 6 {
			mode = launcher.InitTraces
		}
		for len(args) < 5 {
			args = append(args, program.Int(0))
		}
		slot := int(stdio) + l.terminal - 1
		args = append(args[:5], program.Named(mode|slot<<launcher.InitTerminal,
			fmt.Sprintf("%d | %d << 8 /* the slot of the terminal */", mode, slot)))
	}
	return args
}
