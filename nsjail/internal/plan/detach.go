package plan

import (
	"brig/internal/program"
	"brig/internal/tricks"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/ops"

	"golang.org/x/sys/unix"
)

// canDetachMounts reports whether Wait may return before the mounts are gone: if none shows files that the caller may
// want to unmount then.
func canDetachMounts(in *input) bool {
	if !in.mode.Forked || in.Tier != "" || !tricks.DetachMounts.On() || in.NoInit || in.host.Missing["proc"] != "" {
		return false
	}
	for i := range in.host.Protected {
		if in.host.Protected[i].Absent { // removing a ghost while it is a mount point takes an RCU grace period each
			return false
		}
	}
	return sourcesStay(in.host)
}

// SourcesStay reports whether the jail shows no files that the caller may want to unmount after the run.
func (p *Plan) SourcesStay() bool { return sourcesStay(p.Host) }

func sourcesStay(h *host.Host) bool {
	for _, src := range h.Sources.All() {
		if !src.Stays && !src.Copied {
			return false
		}
	}
	return true
}

// detachMounts makes a kernel thread dismantle the jail's mounts after the run. Otherwise the last process of the mount
// namespace does so before it can be reaped, which takes some tenths of a millisecond: three RCU grace periods. cycle
// is the slot of the first of the keeper's two sockets, or 0.
//
// The mount namespace is kept alive by a descriptor in a message that cannot be received. The message is queued in a
// socket to which only the message itself refers, once the keeper has closed its two sockets. The kernel collects such
// cycles (unix(7), SCM_RIGHTS): since Linux 6.8 in a kernel thread, before in close(2).
func detachMounts(p *program.Program, cycle program.Slot) {
	if cycle == 0 {
		return
	}
	ops.Dup(p, "mount", cycle, host.FdCycle)
	ns := p.Open("mount", unix.SYS_OPENAT, program.CWD(), program.Str("proc/self/ns/mnt"),
		program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	ops.Dup(p, "mount", ns, host.FdNamespace)
	p.Close("mount", ns)
	ops.Send(p, "mount", cycle+1, 0, "[itself, mount namespace]", host.FdCycle, host.FdNamespace).May(unix.ETOOMANYREFS)
}
