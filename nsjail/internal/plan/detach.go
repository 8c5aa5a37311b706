package plan

import (
	"slices"

	"brig/internal/program"
	"brig/internal/tricks"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// canDetachMounts reports whether Wait may return before the mounts are gone: if each of them is of a kind that shows
// nothing of the caller's.
func (r *resolver) canDetachMounts() bool {
	s := r.spec
	return r.mode.Early && tricks.DetachMounts.On() && !s.NoInit && s.Rootfs.Path == "" && r.host.Missing["proc"] == "" &&
		!slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool {
			switch m.Type {
			case spec.MountTmpfs, spec.MountDir, spec.MountSymlink, spec.MountFile, spec.MountData:
				return false
			}
			return true
		})
}

// detachMounts has a thread of the kernel's take the jail's mounts apart after the run. The last process of a mount
// namespace waits for that before it can be collected, some tenths of a millisecond: three waits for RCU. Here a
// reference to the namespace outlives the process, in a message that cannot be received: it is in the queue of a socket
// to which only the message itself refers once the keeper has closed its two. The kernel collects such cycles
// (unix(7), SCM_RIGHTS), in a thread of its own since Linux 6.8 and in close(2) before.
func (r *resolver) detachMounts() error {
	if r.Cycle == 0 {
		return nil
	}
	p := r.Jail
	p.Add("mount", unix.SYS_DUP3, r.Cycle.Arg(), program.Int(host.FdCycle), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	ns := p.Open("mount", unix.SYS_OPENAT, program.CWD(), program.Str("/proc/self/ns/mnt"),
		program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	p.Add("mount", unix.SYS_DUP3, ns.Arg(), program.Int(host.FdNamespace), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Close("mount", ns)
	p.Add("mount", unix.SYS_SENDMSG, (r.Cycle + 1).Arg(),
		fdMessage("[itself, mount namespace]", host.FdCycle, host.FdNamespace),
		program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL")).
		May(unix.ETOOMANYREFS)
	return nil
}
