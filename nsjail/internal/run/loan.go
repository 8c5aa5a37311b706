package run

import (
	"os"

	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// loan is the state of a file that a payload can change through an open file description of its own: the mode, if its
// uid owns the file, and a terminal's state. It is restored when the jail has ended, through the caller's own
// descriptor: a duplicate would keep the far end from seeing the end of the stream.
type loan struct {
	file     *os.File
	mode     uint32 // permissions
	gid      int    // -1: neither this nor mode is restored
	terminal *terminalState
}

// terminalState is what ioctl_tty(2) and termios(3) change.
type terminalState struct {
	modes                 unix.Termios
	discipline, exclusive int
}

// note remembers the state that f is restored to. Called by root, it lends a terminal to the payload's group, so that
// /dev/stderr can be opened. The payload is not the owner, so it cannot admit other users. If the keeper is killed, the
// terminal is left with a group that no process has.
func (s *Streams) note(f *os.File, fd int, st *unix.Stat_t) {
	l := loan{file: f, mode: st.Mode & 0o7777, gid: int(st.Gid)}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR {
		l.terminal = readTerminal(fd)
		if s.Chown {
			if lentOut(l.gid) || unix.Fchown(fd, -1, s.GID) != nil {
				l.gid = -1
			} else {
				_ = unix.Fchmod(fd, l.mode&0o700|0o60) // without it the payload has only the descriptor
			}
		}
	} else if s.Chown { // the payload owns no pipe of root's
		return
	}
	s.loans = append(s.loans, l)
}

// lentOut reports whether a group is that of another keeper's payloads. That keeper restores the terminal's group.
func lentOut(gid int) bool {
	pid := gid - launcher.PayloadIDs
	return pid > 0 && pid < launcher.PayloadIDCount && unix.Kill(pid, 0) == nil
}

// endLoans restores all loans. An error means that the caller has closed the file, or that the terminal is gone.
func (s *Streams) endLoans() {
	for i := range s.loans {
		if rc, err := s.loans[i].file.SyscallConn(); err == nil {
			_ = rc.Control(func(fd uintptr) { s.loans[i].end(int(fd)) })
		}
	}
	s.loans = nil
}

func (l *loan) end(fd int) {
	var now unix.Stat_t
	if unix.Fstat(fd, &now) == nil && l.gid >= 0 {
		if int(now.Gid) != l.gid {
			_ = unix.Fchown(fd, -1, l.gid)
		}
		// no permission is added for others: the noted mode may be one that another jail has set
		if mode := now.Mode & 0o7777; mode != l.mode {
			_ = unix.Fchmod(fd, mode&l.mode|l.mode&0o700)
		}
	}
	if l.terminal != nil {
		l.terminal.restore(fd)
	}
}

func readTerminal(fd int) *terminalState {
	t := &terminalState{}
	if modes, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
		t.modes = *modes
	}
	t.discipline, _ = unix.IoctlGetInt(fd, unix.TIOCGETD)
	t.exclusive, _ = unix.IoctlGetInt(fd, unix.TIOCGEXCL)
	return t
}

func (t *terminalState) restore(fd int) {
	if now, err := unix.IoctlGetInt(fd, unix.TIOCGETD); err == nil && now != t.discipline {
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSETD, t.discipline)
	}
	if t.exclusive == 0 {
		_ = unix.IoctlSetInt(fd, unix.TIOCNXCL, 0)
	}
	// In the background the modes are by now those of the foreground job, and setting them would stop this process.
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return
	}
	if now, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil && *now != t.modes {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, &t.modes)
	}
}
