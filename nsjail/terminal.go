package nsjail

import (
	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// loan is a terminal of the caller's that the payload may use: what it can change there, which is more than an open
// file's flags and stays when the jail has ended, is put back. termios(3), ioctl_tty(2).
type loan struct {
	fd         int
	termios    unix.Termios
	discipline int
	exclusive  int
	mode       uint32
	gid        int // the group it had; -1 if it kept it
}

// openTerminal opens a terminal again, and notes what it was like. Called by root, it lends it to the payload's group,
// so that /dev/stderr can be opened: the payload, which is not the owner, cannot let anybody else in. Were the keeper
// killed, the terminal would be left with a group that no process has.
func (c *Cmd) openTerminal(path string, access int, st *unix.Stat_t) int {
	fd := tryOpen(path, access)
	if fd < 0 {
		return -1
	}
	l := loan{gid: -1}
	var err error
	if l.fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		unix.Close(fd)
		return -1
	}
	if t, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
		l.termios = *t
	}
	l.discipline, _ = unix.IoctlGetInt(fd, unix.TIOCGETD)
	l.exclusive, _ = unix.IoctlGetInt(fd, unix.TIOCGEXCL)
	if h := c.plan.Host; h.Drop && !lentOut(int(st.Gid)) && unix.Fchown(fd, -1, h.PayloadGID) == nil {
		l.gid, l.mode = int(st.Gid), st.Mode&0o7777
		_ = unix.Fchmod(fd, l.mode&0o700|0o60) // without it the payload has only the descriptor
	}
	c.loans = append(c.loans, l)
	return fd
}

// lentOut reports whether a group is that of another keeper's payloads: it will give the terminal the group that it
// had.
func lentOut(gid int) bool {
	pid := gid - stage.PayloadIDs
	return pid > 0 && pid < stage.PayloadIDCount && unix.Kill(pid, 0) == nil
}

// endLoans puts the terminals back. An error means that a terminal is gone.
func (c *Cmd) endLoans() {
	for i := range c.loans {
		c.loans[i].end()
	}
	c.loans = nil
}

func (l *loan) end() {
	defer unix.Close(l.fd)
	if l.gid >= 0 {
		_ = unix.Fchown(l.fd, -1, l.gid)
		_ = unix.Fchmod(l.fd, l.mode)
	}
	if now, err := unix.IoctlGetInt(l.fd, unix.TIOCGETD); err == nil && now != l.discipline {
		_ = unix.IoctlSetPointerInt(l.fd, unix.TIOCSETD, l.discipline)
	}
	if l.exclusive == 0 {
		_ = unix.IoctlSetInt(l.fd, unix.TIOCNXCL, 0)
	}
	// In the background the modes are by now those of whatever runs in the foreground, and to set them would stop us.
	if group, err := unix.IoctlGetInt(l.fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return
	}
	if now, err := unix.IoctlGetTermios(l.fd, unix.TCGETS); err == nil && *now != l.termios {
		_ = unix.IoctlSetTermios(l.fd, unix.TCSETS, &l.termios)
	}
}
