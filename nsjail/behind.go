package nsjail

import (
	"os"
	"slices"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// Fixed numbers, which a control message has to name.
const (
	fdGarbage   = 259
	fdNamespace = 262 // fdMaster comes later
)

// behind says that nobody but the kernel needs to know when the jail's mounts are gone: none is of the caller's.
func (r *resolver) behind() bool {
	s := r.spec
	return r.host.ForkedEarly && !s.NoInit && s.Rootfs.Path == "" && r.host.Missing["proc"] == "" &&
		!slices.ContainsFunc(s.Mounts, func(m Mount) bool { return m.Type == MountBind || m.Type == MountVolume })
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
	p.Add("mount", unix.SYS_DUP3, r.garbage.Arg(), program.Int(fdGarbage), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	ns := p.Open("mount", unix.SYS_OPENAT, program.CWD(), program.Str("/proc/self/ns/mnt"), program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
	p.Add("mount", unix.SYS_DUP3, ns.Arg(), program.Int(fdNamespace), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Close("mount", ns)
	p.Add("mount", unix.SYS_SENDMSG, (r.garbage + 1).Arg(), fdMessage("[itself, mount namespace]", fdGarbage, fdNamespace), program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL")).
		May(unix.ETOOMANYREFS)
}

// descriptor is one that is closed at the end.
type descriptor int

func (d descriptor) Close() error { return unix.Close(int(d)) }

// fillGarbage adds the two sockets that leaveBehind speaks of, and keeps them as well.
func (c *Cmd) fillGarbage(h *handover) error {
	if c.plan.garbage == 0 {
		return nil
	}
	sv, err := socketpair(unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	h.put(c.plan.garbage, sv[:]...)
	for _, fd := range sv {
		mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		c.closers = append(c.closers, descriptor(mine))
	}
	return nil
}
