package run

import (
	"os"

	"brig/internal/sys"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// loan is the state of a file that a payload can change through its own open file description: the mode, if its uid
// owns the file, and the settings of a terminal. The keeper restores them after the end of the jail, through the
// caller's own descriptor. A duplicate would keep the stream open for the process at its other end.
type loan struct {
	file     *os.File
	mode     uint32 // permissions
	gid      int    // -1: neither this nor mode is restored
	terminal *terminalState
}

// terminalState is the state that ioctl_tty(2) and termios(3) can change.
type terminalState struct {
	modes                 unix.Termios
	discipline, exclusive int
}

// loans are those of one jail.
type loans []loan

// note records the state of f, to be restored. If the caller is root, it also hands a terminal to the payload's group,
// so that the payload can open /dev/stderr. The payload is not the owner, so it cannot admit other users. If the keeper
// is killed, the terminal keeps a group that no process has.
func (list *loans) note(f *os.File, fd int, st *unix.Stat_t, to Owner) {
	l := loan{file: f, mode: st.Mode & 0o7777, gid: int(st.Gid)}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR {
		l.terminal = readTerminal(fd)
		if to.Other {
			if lentOut(l.gid) || unix.Fchown(fd, -1, to.GID) != nil {
				l.gid = -1
			} else {
				_ = unix.Fchmod(fd, l.mode&0o700|0o60) // on failure the payload can use the descriptor only
			}
		}
	} else if to.Other { // the payload does not own a pipe of root
		return
	}
	*list = append(*list, l)
}

// lentOut reports whether a group belongs to the payloads of another keeper, which will restore the terminal's group.
// An id above the range is from SetPayloadID, and its keeper is taken to be alive.
func lentOut(gid int) bool {
	pid := gid - launcher.PayloadIDs
	return pid >= launcher.PayloadIDCount || pid > 0 && unix.Kill(pid, 0) == nil
}

// end restores all. An error means that the caller has closed the file, or that the terminal is gone.
func (list *loans) end() {
	for _, l := range *list {
		_ = sys.Control(l.file, func(fd int) error { l.end(fd); return nil })
	}
	*list = nil
}

func (l *loan) end(fd int) {
	var now unix.Stat_t
	if unix.Fstat(fd, &now) == nil && l.gid >= 0 {
		if int(now.Gid) != l.gid {
			_ = unix.Fchown(fd, -1, l.gid)
		}
		// never adds a permission for others: another jail may have set the recorded mode
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
	// A background process would be stopped if it set the modes, which now belong to the foreground job.
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return
	}
	if now, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil && *now != t.modes {
		_ = unix.IoctlSetTermios(fd, unix.TCSETS, &t.modes)
	}
}
