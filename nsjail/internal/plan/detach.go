package plan

import (
	"brig/internal/program"
	"brig/internal/tricks"
	"brig/nsjail/internal/host"

	"golang.org/x/sys/unix"
)

// canDetachMounts reports whether Wait may return before the mounts are gone: if none shows files that the caller may
// want to unmount then.
func (r *resolver) canDetachMounts() bool {
	s := r.Spec
	if !r.Mode.Forked || s.Tier != "" || !tricks.DetachMounts.On() || s.NoInit || r.Host.Missing["proc"] != "" {
		return false
	}
	for i := range r.Host.Protected {
		if r.Host.Protected[i].Absent { // removing a ghost while it is a mount point takes an RCU grace period each
			return false
		}
	}
	return r.SourcesStay()
}

// SourcesStay reports whether the jail shows no files that the caller may want to unmount after the run.
func (p *Plan) SourcesStay() bool {
	for _, src := range p.Host.Sources {
		if !src.Stays && !src.Copied {
			return false
		}
	}
	return true
}

// detachMounts makes a kernel thread dismantle the jail's mounts after the run. Otherwise the last process of the mount
// namespace does so before it can be reaped, which takes some tenths of a millisecond: three RCU grace periods.
//
// The mount namespace is kept alive by a descriptor in a message that cannot be received. The message is queued in a
// socket to which only the message itself refers, once the keeper has closed its two sockets. The kernel collects such
// cycles (unix(7), SCM_RIGHTS): since Linux 6.8 in a kernel thread, before in close(2).
func (r *resolver) detachMounts() {
	if r.Cycle == 0 {
		return
	}
	p := r.Jail
	dup(p, "mount", r.Cycle, host.FdCycle)
	ns := p.Open("mount", unix.SYS_OPENAT, program.CWD(), program.Str("proc/self/ns/mnt"),
		program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	dup(p, "mount", ns, host.FdNamespace)
	p.Close("mount", ns)
	send(p, "mount", r.Cycle+1, 0, "[itself, mount namespace]", host.FdCycle, host.FdNamespace).May(unix.ETOOMANYREFS)
}
