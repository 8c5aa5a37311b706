package plan

import (
	"encoding/binary"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// terminal opens a terminal in the jail's devpts and sends the master side to the keeper: pty(7), ioctl_tty(2).
func (r *resolver) terminal() {
	p := r.Jail
	m := p.Open("tty", unix.SYS_OPENAT, program.CWD(), program.Str("/dev/pts/ptmx"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"), program.Int(0))
	p.Add("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCSPTLCK, "TIOCSPTLCK"),
		program.Struct(make([]byte, 4), program.Text("[0]")))
	s := p.Open("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCGPTPEER, "TIOCGPTPEER"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"))
	p.Add("tty", unix.SYS_DUP3, m.Arg(), program.Int(host.FdMaster), program.Named(unix.O_CLOEXEC, "O_CLOEXEC"))
	p.Add("tty", unix.SYS_SENDMSG, launcher.SlotReport.Arg(), fdMessage("[master]", host.FdMaster),
		program.Named(unix.MSG_NOSIGNAL, "MSG_NOSIGNAL"))
	p.Add("tty", unix.SYS_CLOSE, program.Int(host.FdMaster))
	p.Close("tty", m)
	for i := range 3 {
		p.Add("tty", unix.SYS_DUP3, s.Arg(), program.Int(i), program.Int(0))
	}
	p.Close("tty", s)
	p.Add("tty", unix.SYS_IOCTL, program.Int(0), program.Named(unix.TIOCSCTTY, "TIOCSCTTY"), program.Int(0))
}

// fdMessage returns a struct msghdr with its iovec, one byte, and descriptors as SCM_RIGHTS: sendmsg(2), cmsg(3).
func fdMessage(what string, fds ...int) program.Arg {
	const iov, text, control = 56, 72, 80
	b := make([]byte, control)
	ne := binary.NativeEndian
	ne.PutUint64(b[24:], 1)                                  // msg_iovlen
	ne.PutUint64(b[40:], uint64(unix.CmsgSpace(4*len(fds)))) // msg_controllen
	ne.PutUint64(b[iov+8:], 1)                               // iov_len
	return program.Struct(append(b, unix.UnixRights(fds...)...), program.Text("{SCM_RIGHTS: "+what+"}")).
		WithOwnPointer(16, iov).WithOwnPointer(iov, text).WithOwnPointer(32, control)
}
