package plan

import (
	"runtime"

	"brig/internal/tricks"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// shape contains the properties on which the order depends.
type shape struct {
	prepared    bool // a launcher in a prepared root performs a prefix before the run is known
	ahead       bool // the launcher was forked early
	side        bool // init and the payload's process make the jail in parallel
	makesNet    bool // init makes the network namespace in parallel
	noInit      bool
	box         bool // init forks no payload: the programs of processes come later
	image       bool
	mountsLater bool // the caller's mounts are in the suffix
	filterFirst bool // the filter permits all calls after the prefix

	noNamespaces bool // spec.TierProcess
	labelled     bool // the payload gets a label of AppArmor or SELinux
	leaves       bool // what follows "root" needs nothing of the host's tree
}

func hasInit(s *shape) bool         { return !s.noInit }
func forks(s *shape) bool           { return hasInit(s) && !s.box }
func isBox(s *shape) bool           { return s.box }
func notBox(s *shape) bool          { return !s.box }
func hasNamespaces(s *shape) bool   { return !s.noNamespaces }
func isProcess(s *shape) bool       { return s.noNamespaces }
func leavesEarly(s *shape) bool     { return s.leaves }
func leavesLate(s *shape) bool      { return hasNamespaces(s) && !s.leaves }
func isLabelled(s *shape) bool      { return s.labelled }
func sideBySide(s *shape) bool      { return s.side }
func makesNet(s *shape) bool        { return s.makesNet }
func inPreparedImage(s *shape) bool { return s.prepared && s.image }
func madeAhead(s *shape) bool       { return s.ahead && !s.image } // an image's program begins differently
func notAhead(s *shape) bool        { return !madeAhead(s) }

// canShare reports whether two processes of the launcher can make system calls in shared memory (launcher.h).
const canShare = runtime.GOARCH == "amd64"

// shapeOf returns the properties on which the order of the phases depends. leaves and labelled are those of the shape,
// and sockets is set if the keeper receives sockets.
func shapeOf(in *input, leaves, labelled, sockets bool) shape {
	m := in.mode
	sh := shape{prepared: m.Root != nil, ahead: m.Forked && in.Tier == "", noInit: in.NoInit, box: m.Box,
		image:        in.Rootfs.Path != "",
		noNamespaces: in.Tier == spec.TierProcess, labelled: labelled, leaves: leaves}
	if !sh.prepared {
		return sh
	}
	sh.mountsLater = MountsComeLater(in.Spec)
	sh.filterFirst = !sh.mountsLater && !sh.box && permitsSuffix(in.Spec, in.host)
	sh.side = sh.filterFirst && canShare && tricks.SideBySide.On() && !sh.noInit && !sockets &&
		(m.Net || !m.Root.NoSetns)
	sh.makesNet = sh.side && !m.Net
	return sh
}

// MountsComeLater reports whether the caller's mounts belong to the suffix. With an image they belong to the prefix,
// because their mount points cannot be created after pivot_root(2).
func MountsComeLater(s *spec.Spec) bool { return s.Rootfs.Path == "" && len(s.Mounts) > 0 }

// permitsSuffix reports whether the filter permits all calls by which a process receives and performs the suffix. In
// that case the prefix can load the filter.
func permitsSuffix(s *spec.Spec, h *host.Host) bool {
	if s.TTY || len(h.Filter) == 0 || spec.FileProfile(s.Seccomp) || h.Guard != nil || h.Missing["seccomp"] != "" {
		return false
	}
	if abi, _ := landlockABI(s, h); abi != 0 &&
		!seccomp.PermitsAll(h.Filter, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF) {
		return false
	}
	return seccomp.PermitsAll(h.Filter, unix.SYS_RT_SIGPROCMASK, unix.SYS_FUTEX, unix.SYS_RECVMSG, unix.SYS_NEWFSTATAT,
		unix.SYS_FSTAT, unix.SYS_MMAP, unix.SYS_CLOSE, unix.SYS_DUP3, unix.SYS_PRLIMIT64, unix.SYS_CHDIR,
		unix.SYS_CLOSE_RANGE, unix.SYS_EXECVE, unix.SYS_EXIT_GROUP)
}
