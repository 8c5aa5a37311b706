package plan

import (
	"runtime"

	"brig/internal/tricks"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// Mode is what Resolve has to know of the launcher that makes the jail. The zero value is a launcher in the host's root
// with nothing ready.
type Mode struct {
	// Early is a launcher that the process's main thread forked before main (EarlyRunner): it and the keeper are for one
	// jail.
	Early bool `json:"early"`
	// Net is a network namespace with lo up that was made before, and in which the jail starts.
	Net bool `json:"net"`
	// UID and GID are the host ids that root's launcher has taken; 0 where it is to take those of Host.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Note is for Plan.Notes.
	Note string `json:"note"`

	Root *PreparedRoot // in which the launcher is; nil for the host's
}

// PreparedRoot is the root of a launcher whose jails copy its few mounts instead of all of the host's.
type PreparedRoot struct {
	Host    *host.Host // as it was when the root was made
	etc     bool       // its /etc is the whole one of a jail with the default identity
	NoSetns bool       // an outer filter does not permit setns(2)
	Steps   []Preparation
}

// facts returns a Host with what holds in the mode.
func (m *Mode) facts(s *spec.Spec, h *host.Host) *host.Host {
	if m.Root == nil && m.UID == 0 {
		return h
	}
	c := h.Facts()
	if m.UID != 0 {
		c.PayloadUID, c.PayloadGID = m.UID, m.GID
	}
	if m.Root == nil {
		return c
	}
	was := m.Root.Host
	c.PayloadUID, c.PayloadGID, c.Kept = was.PayloadUID, was.PayloadGID, was.Kept
	if s.Rootfs.Path == "" { // what the prepared root has, and not what the host has by now
		c.System, c.Files, c.CPUs = was.System, was.Files, was.CPUs
	}
	return c
}

// canShare reports whether two processes of the launcher can make system calls at the same time in one memory
// (launcher.h).
const canShare = runtime.GOARCH == "amd64"

// shapeOf returns what the order depends on.
func (r *resolver) shapeOf() shape {
	s, m := r.spec, r.mode
	sh := shape{prepared: m.Root != nil, ahead: m.Early, noInit: s.NoInit, image: s.Rootfs.Path != ""}
	sh.mountsLater = sh.prepared && MountsComeLater(s)
	permits := !sh.mountsLater && permitsSuffix(s, r.host)
	sh.side = permits && canShare && tricks.SideBySide.On() && !sh.noInit && !sh.image && r.Sockets == nil
	if sh.prepared {
		sh.side = sh.side && (m.Net || !m.Root.NoSetns)
		sh.makesNet, sh.filterFirst = sh.side && !m.Net, permits
		return sh
	}
	sh.side = sh.side && sh.ahead && r.host.Missing["proc"] == ""
	sh.filterFirst = sh.side
	return sh
}

// MountsComeLater reports whether the caller's mounts belong to the suffix. An image's belong to the prefix: its mount
// points cannot be made once it is the root.
func MountsComeLater(s *spec.Spec) bool { return s.Rootfs.Path == "" && len(s.Mounts) > 0 }

// permitsSuffix reports whether the filter lets a process receive and perform the suffix of a list, so that the prefix
// can load it.
func permitsSuffix(s *spec.Spec, h *host.Host) bool {
	if s.TTY || len(h.Filter) == 0 || spec.FileProfile(s.Seccomp) || h.Guard != nil || h.Missing["seccomp"] != "" {
		return false
	}
	return seccomp.PermitsAll(h.Filter, unix.SYS_RT_SIGPROCMASK, unix.SYS_FUTEX, unix.SYS_RECVMSG, unix.SYS_NEWFSTATAT,
		unix.SYS_FSTAT, unix.SYS_MMAP, unix.SYS_CLOSE, unix.SYS_DUP3, unix.SYS_PRLIMIT64, unix.SYS_CHDIR,
		unix.SYS_CLOSE_RANGE, unix.SYS_EXECVE, unix.SYS_EXIT_GROUP)
}
