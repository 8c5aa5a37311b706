package ops

import (
	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// OpenTerminal opens a terminal in the jail's devpts as the three streams of the process, whose session it controls,
// and sends the master side to the keeper: pty(7), ioctl_tty(2). It waits until the keeper has set the terminal up, who
// then adds to an eventfd(2).
func OpenTerminal(p *program.Program) {
	m := p.Open("tty", unix.SYS_OPENAT, program.CWD(), program.Str("/dev/pts/ptmx"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"), program.Int(0))
	p.Add("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCSPTLCK, "TIOCSPTLCK"),
		program.Struct(make([]byte, 4), program.Text("[0]")))
	s := p.Open("tty", unix.SYS_IOCTL, m.Arg(), program.Named(unix.TIOCGPTPEER, "TIOCGPTPEER"),
		program.Named(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, "O_RDWR|O_NOCTTY|O_CLOEXEC"))
	seated := p.Open("tty", unix.SYS_EVENTFD2, program.Int(0), program.Named(unix.EFD_CLOEXEC, "EFD_CLOEXEC"))
	Dup(p, "tty", m, host.FdMaster)
	Dup(p, "tty", seated, host.FdSeated)
	Send(p, "tty", launcher.SlotReport, 0, "[master, seated]", host.FdMaster, host.FdSeated)
	p.Add("tty", unix.SYS_CLOSE, program.Int(host.FdMaster))
	p.Add("tty", unix.SYS_CLOSE, program.Int(host.FdSeated))
	p.Close("tty", m)
	p.Add("tty", unix.SYS_READ, seated.Arg(), program.Bytes(make([]byte, 8)), program.Int(8))
	p.Close("tty", seated)
	for i := range 3 {
		p.Add("tty", unix.SYS_DUP3, s.Arg(), program.Int(i), program.Int(0))
	}
	p.Close("tty", s)
	ControlTerminal(p, program.Int(0))
}

// ControlTerminal makes a terminal the one that controls the process's session: ioctl_tty(2).
func ControlTerminal(p *program.Program, fd program.Arg) *program.Op {
	return p.Add("tty", unix.SYS_IOCTL, fd, program.Named(unix.TIOCSCTTY, "TIOCSCTTY"), program.Int(0))
}
