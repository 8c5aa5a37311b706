// Package terminal is a caller's terminal whose keys reach a program elsewhere: in a jail, or in a box of brigd's.
package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Terminal is one that can be raw: termios(3), ioctl_tty(2).
type Terminal struct {
	in         *os.File
	saved, raw unix.Termios
}

// Of returns the terminal that a file is. An error means that it is none.
func Of(in *os.File) (*Terminal, error) {
	saved, err := unix.IoctlGetTermios(int(in.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	t := &Terminal{in: in, saved: *saved, raw: *saved}
	t.raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR |
		unix.IGNCR | unix.ICRNL | unix.IXON
	t.raw.Oflag &^= unix.OPOST
	t.raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.raw.Cflag = t.raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.raw.Cc[unix.VMIN], t.raw.Cc[unix.VTIME] = 1, 0
	return t, nil
}

// Raw lets every key through.
func (t *Terminal) Raw() error { return t.set(&t.raw) }

// Restore sets the modes that the terminal had. It has no effect if the terminal is gone.
func (t *Terminal) Restore() { _ = t.set(&t.saved) }

func (t *Terminal) set(modes *unix.Termios) error {
	return unix.IoctlSetTermios(int(t.in.Fd()), unix.TCSETS, modes)
}

// Size returns its size. An error means that it is gone.
func (t *Terminal) Size() (*unix.Winsize, error) {
	return unix.IoctlGetWinsize(int(t.in.Fd()), unix.TIOCGWINSZ)
}

// Suspend stops this process's group as Ctrl-Z would. It reports whether a shell can continue it: otherwise the group
// is an orphaned one, and goes on. See setpgid(2).
func Suspend() bool {
	parent := os.Getppid()
	session, err := unix.Getsid(parent)
	own, oerr := unix.Getsid(0)
	group, gerr := unix.Getpgid(parent)
	if err != nil || oerr != nil || gerr != nil || session != own || group == unix.Getpgrp() {
		return false
	}
	_ = unix.Kill(0, unix.SIGTSTP)
	return true
}
