// Package desk makes the terminal (pty(7)) that a payload has in place of the caller's controlling terminal. A
// descriptor of the latter would be read past the kernel's job control, since the jail has a session of its own: a job
// in the background would read what the user types. The payload's group is in the background of its own terminal until
// it reads or sets the modes: the kernel then stops it with SIGTTIN or SIGTTOU, and the keeper asks the caller's
// terminal for the same, which stops the keeper where it is in the background. Only then does the desk read for the
// payload: it is attached.
package desk

import (
	"io"
	"os"
	"strconv"
	"sync"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Desk is a payload's terminal. A nil one is none: the methods by which the keeper answers for it do nothing then.
type Desk struct {
	in     int // the caller's terminal, without blocking if it can be opened again
	master *os.File
	slave  int
	alone  bool // all three streams are this terminal
	ends   int  // the jail's pidfd
	screen screen

	mu       sync.Mutex
	change   sync.Cond
	attached bool
	ended    bool
	pumping  bool
	saved    unix.Termios // of the caller's terminal, while attached
	copied   unix.Termios // what the payload's terminal had from the caller's

	asks    sync.Mutex // one stop of this process at a time, for want of the caller's terminal
	asking  bool       // this process asks for that terminal, in the background
	leaving bool       // the payload has been asked to end

	passed int  // how many SIGCONT of the caller's were passed on
	owed   bool // the SIGCONT that has continued this process is on its way; the payload has been continued already
}

// Controls reports whether a descriptor is the controlling terminal of this process: ioctl_tty(2).
func Controls(fd int) bool {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil
}

// Open opens a terminal with the modes and the size of the caller's, or returns nil: its streams are then copied
// through pipes. own makes the payload the owner of the slave side.
func Open(ours int, own func(fd int) error) *Desk {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	d := newDesk(m)
	if err = d.copyModes(ours, m, own); err == nil {
		err = d.openInput(ours)
	}
	if err != nil {
		d.close()
		return nil
	}
	d.Resize()
	return d
}

// newDesk returns the desk of a terminal's master side, which it owns.
func newDesk(master int) *Desk {
	d := &Desk{in: -1, slave: -1, ends: -1, master: os.NewFile(uintptr(master), "ptmx")}
	d.change.L = &d.mu
	return d
}

// copyModes opens the slave side with the modes of the caller's terminal.
func (d *Desk) copyModes(ours, master int, own func(fd int) error) error {
	modes, err := unix.IoctlGetTermios(ours, unix.TCGETS)
	if err == nil {
		err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		d.slave, err = peer(master)
	}
	if err == nil {
		d.copied, err = *modes, unix.IoctlSetTermios(d.slave, unix.TCSETS, modes)
	}
	if err == nil {
		err = own(d.slave)
	}
	return err
}

// openInput opens the caller's terminal again, to read without blocking. The caller may lack permission to.
func (d *Desk) openInput(ours int) (err error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	if d.in, err = unix.Open("/proc/self/fd/"+strconv.Itoa(ours), flags, 0); err != nil {
		d.in, err = unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
	}
	return err
}

// peer opens the slave side of a terminal, whatever is mounted on /dev/pts: ioctl_tty(2) TIOCGPTPEER.
func peer(master int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// Seat returns the desk's terminal as a stream in place of the caller's, or -1. If the stream is written, the output is
// shown there.
func (d *Desk) Seat(name string, ours int, written bool) int {
	if written && d.screen.to == nil {
		if fd, err := unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			d.screen.to = os.NewFile(uintptr(fd), name)
		}
	}
	fd, err := unix.FcntlInt(uintptr(d.slave), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// Start tells that the jail has the slave's descriptors, and how to know its end. It returns from where the payload's
// output is to be copied, and the writer that shows it. alone is set if all three streams are this terminal.
func (d *Desk) Start(pidfd *os.File, alone bool) (from *os.File, to io.Writer) {
	unix.Close(d.slave)
	d.slave, d.alone, d.screen.may = -1, alone, d.mayShow
	_ = sys.Control(pidfd, func(fd int) (err error) { // an error means that the jail has ended
		d.ends, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	return d.master, &d.screen
}

// Resize copies the size of the caller's terminal.
func (d *Desk) Resize() {
	if d == nil {
		return
	}
	if size, err := unix.IoctlGetWinsize(d.in, unix.TIOCGWINSZ); err == nil {
		_ = sys.Control(d.master, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
	}
}

// Last returns the end of what the payload has shown, or nil. All must have been copied.
func (d *Desk) Last() []byte {
	if d == nil {
		return nil
	}
	return d.screen.last
}

// End restores the caller's terminal. pump may still be in poll(2) until the end of the jail has woken it.
func (d *Desk) End() {
	if d == nil {
		return
	}
	d.detach()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.change.Broadcast()
	d.close()
}

// close closes what the pump does not use.
func (d *Desk) close() {
	if !d.pumping {
		d.closeInput()
	}
	if d.slave >= 0 {
		unix.Close(d.slave)
	}
	if d.screen.to != nil {
		d.screen.to.Close()
	}
	d.master.Close()
}

func (d *Desk) closeInput() {
	for _, fd := range []int{d.in, d.ends} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
