package nsjail

import (
	"slices"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// behind says that nobody but the kernel needs to know when the jail's mounts are gone: none is of the caller's.
func (r *resolver) behind() bool {
	s := r.spec
	return r.host.ForkedEarly && !s.NoInit && s.Rootfs.Path == "" && r.host.Missing["proc"] == "" &&
		!slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountBind || m.Type == spec.MountVolume })
}

// leaveBehind has the kernel take the jail's mounts apart behind the run, by a thread of its own. The last process of a
// mount namespace waits for that before it can be collected, some tenths of a millisecond: three waits for RCU. Here a
// reference to the namespace outlives it, in a message that nobody can receive: it lies in the queue of a socket that only
// the message itself still refers to once the keeper has closed its two. That is what the collector of such garbage
// is for (unix(7), SCM_RIGHTS), which runs in a thread of the kernel's since Linux 6.8 and in close(2) before.
func (r *resolver) leaveBehind() {
	if r.garbage == 0 {
		return
	}
	p := r.Jail
	p.Add("mount", unix.SYS_DUP3, r.garbage.Arg(), program.Int(host.FdGarbage), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	ns := p.Open("mount", unix.SYS_OPENAT, program.CWD(), program.Str("/proc/self/ns/mnt"), program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	p.Add("mount", unix.SYS_DUP3, ns.Arg(), program.Int(host.FdNamespace), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Close("mount", ns)
	p.Add("mount", unix.SYS_SENDMSG, (r.garbage + 1).Arg(), fdMessage("[itself, mount namespace]", host.FdGarbage, host.FdNamespace), program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL")).
		May(unix.ETOOMANYREFS)
}
