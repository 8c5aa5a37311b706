package run

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"sync"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// desk is a terminal (pty(7)) that a payload has in place of the caller's controlling terminal. A descriptor of the
// latter would be read past the kernel's job control, since the jail has a session of its own: a job in the background
// would read what the user types. The payload's group is in the background of its own terminal until it reads or sets
// the modes: the kernel then stops it with SIGTTIN or SIGTTOU, and the keeper asks the caller's terminal for the same,
// which stops the keeper where it is in the background. Only then does the desk read for the payload: it is attached.
type desk struct {
	in     int      // the caller's terminal, without blocking if it can be opened again
	out    *os.File // the same, to write to; nil if it cannot be written to
	master *os.File
	slave  int
	alone  bool // all three streams are this terminal
	ends   int  // the jail's pidfd

	mu       sync.Mutex
	change   sync.Cond
	attached bool
	ended    bool
	pumping  bool
	saved    unix.Termios // of the caller's terminal, while attached
	copied   unix.Termios // what the payload's terminal had from the caller's
	last     []byte       // the end of the output

	passed int  // how many SIGCONT of the caller's were passed on
	owed   bool // the SIGCONT that has continued this process is on its way; the payload has been continued already
}

// controls reports whether a descriptor is the controlling terminal of this process: ioctl_tty(2).
func controls(fd int) bool {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil
}

// Controlling returns 1 more than the number of the first stream that is the caller's controlling terminal and would be
// lent, or 0.
func Controlling(in io.Reader, out [2]io.Writer, read bool) int {
	for i, s := range []any{in, out[0], out[1]} {
		f, ok := s.(*os.File)
		if !ok || f == nil || i > 0 && read {
			continue
		}
		if sys.Control(f, func(fd int) error { _, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); return err }) == nil {
			return i + 1
		}
	}
	return 0
}

// openDesk opens a terminal with the modes and the size of the caller's, or returns nil: its streams are then copied
// through pipes.
func (s *Streams) openDesk(ours int) *desk {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	d := &desk{in: -1, slave: -1, ends: -1, master: os.NewFile(uintptr(m), "ptmx")}
	d.change.L = &d.mu
	modes, err := unix.IoctlGetTermios(ours, unix.TCGETS)
	if err == nil {
		err = unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		d.slave, err = peer(m)
	}
	if err == nil {
		d.copied, err = *modes, unix.IoctlSetTermios(d.slave, unix.TCSETS, modes)
	}
	if err == nil && s.Chown {
		err = unix.Fchown(d.slave, s.UID, s.GID)
	}
	path := "/proc/self/fd/" + strconv.Itoa(ours)
	if d.in = tryOpen(path, unix.O_RDONLY|unix.O_NONBLOCK); d.in < 0 && err == nil {
		d.in, err = unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
	}
	if err != nil {
		d.close()
		return nil
	}
	d.resize()
	return d
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

// sit returns the desk's terminal as a stream in place of the caller's, or -1.
func (s *Streams) sit(f *os.File, ours, access int) int {
	if s.desk == nil {
		if s.desk = s.openDesk(ours); s.desk == nil {
			return -1
		}
	}
	if access != unix.O_RDONLY && s.desk.out == nil {
		if fd, err := unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			s.desk.out = os.NewFile(uintptr(fd), f.Name())
		}
	}
	fd, err := unix.FcntlInt(uintptr(s.desk.slave), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// close closes what the pump does not use.
func (d *desk) close() {
	if !d.pumping {
		d.closeInput()
	}
	if d.slave >= 0 {
		unix.Close(d.slave)
	}
	if d.out != nil {
		d.out.Close()
	}
	d.master.Close()
}

func (d *desk) closeInput() {
	for _, fd := range []int{d.in, d.ends} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// resize copies the size of the caller's terminal.
func (d *desk) resize() {
	if size, err := unix.IoctlGetWinsize(d.in, unix.TIOCGWINSZ); err == nil {
		_ = sys.Control(d.master, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
	}
}

// start begins to copy the output. The jail has the slave's descriptors by now.
func (d *desk) start(s *Streams, pidfd *os.File) {
	unix.Close(d.slave)
	d.slave = -1
	_ = sys.Control(pidfd, func(fd int) (err error) { // an error means that the jail has ended
		d.ends, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	d.alone = s.seated == 3
	s.screen = &capture{src: d.master, dst: d}
	s.copies.Go(s.screen.copy)
}

// Write shows the payload's output. The caller's terminal adds the carriage returns itself, unless it is raw.
func (d *desk) Write(b []byte) (int, error) {
	if d.out == nil {
		return len(b), nil
	}
	d.mu.Lock()
	raw := d.attached && d.alone
	d.remember(b)
	d.mu.Unlock()
	shown := b
	if !raw {
		shown = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	}
	if _, err := d.out.Write(shown); err != nil {
		return 0, err
	}
	return len(b), nil
}
