package desk

import (
	"time"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// attach makes the caller's terminal raw and begins to read it for the payload. In the background the kernel stops this
// process first. EIO means that it would have, and that nobody could continue it: an orphaned group.
func (d *Desk) attach(reads bool) (newly bool, err error) {
	use := unix.SIGTTOU
	if reads {
		use = unix.SIGTTIN
	}
	passed, ok := d.foreground(use)
	if !ok {
		return false, nil
	}
	if reads { // of no byte: the kernel asks for the foreground all the same
		if _, err := sys.Retry(func() (int, error) { return unix.Read(d.in, nil) }); err != nil && err != unix.EAGAIN {
			return false, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attached || d.ended {
		return false, nil
	}
	modes, err := unix.IoctlGetTermios(d.in, unix.TCGETS)
	if err != nil {
		return false, err
	}
	d.renew(modes)
	raw := *modes
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL |
		unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if d.alone {
		raw.Oflag &^= unix.OPOST
	}
	set := func() (int, error) { return 0, unix.IoctlSetTermios(d.in, unix.TCSETS, &raw) }
	if _, err := sys.Retry(set); err != nil {
		return false, err
	}
	d.saved, d.attached, d.owed = *modes, true, passed == d.passed
	d.screen.raw.Store(d.alone)
	if d.change.Broadcast(); !d.pumping {
		d.pumping = true
		go d.pump()
	}
	return true, nil
}

// renew copies the modes of the caller's terminal again, unless the payload has set its own: a shell changes them
// before it puts a job into the foreground.
func (d *Desk) renew(modes *unix.Termios) {
	_ = sys.Control(d.master, func(fd int) error { // an error means that the jail has ended
		now, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil || *now != d.copied {
			return err
		}
		d.copied = *modes
		return unix.IoctlSetTermios(fd, unix.TCSETS, modes)
	})
}

// detach ends the reading, and restores the modes if the terminal is still this process's.
func (d *Desk) detach() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.attached {
		return
	}
	d.attached, d.owed = false, false
	d.screen.raw.Store(false)
	if group, err := unix.IoctlGetInt(d.in, unix.TIOCGPGRP); err == nil && group == unix.Getpgrp() {
		_ = unix.IoctlSetTermios(d.in, unix.TCSETS, &d.saved)
	}
}

// background reports whether the caller's terminal is another process group's.
func (d *Desk) background() bool {
	group, err := unix.IoctlGetInt(d.in, unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}

// Continue passes a SIGCONT of the caller's on. One that is on its way while attach continues the payload is late: the
// payload may have stopped again since, at a key, and would not stay so.
func (d *Desk) Continue(pass func() error) error {
	if d == nil {
		return pass()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owed {
		d.owed = false
		return nil
	}
	d.passed++
	return pass()
}

// most is how many bytes the pump reads at once.
const most = 4 << 10

// pump copies what is typed while the desk is attached, until the jail ends.
func (d *Desk) pump() {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.pumping = false; d.ended {
			d.closeInput()
		}
	}()
	buf := make([]byte, most)
	for {
		n := d.read(buf)
		if n < 0 {
			return
		}
		if n > 0 {
			d.settle()
		}
		if _, err := d.master.Write(buf[:n]); err != nil {
			return
		}
	}
}

// settleTime is how long a key waits for init, which a frozen jail has stopped, too.
const settleTime = time.Second

// settle waits until init has handed the foreground to the payload's group, for which attach was asked: a key that
// stands for a signal is for the group that has it when the key arrives.
func (d *Desk) settle() {
	for end := time.Now().Add(settleTime); d.leads() && time.Now().Before(end); {
		d.mu.Lock()
		stay := d.attached && !d.ended
		d.mu.Unlock()
		if !stay {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// leads reports whether the foreground of the payload's terminal is that of its session's leader, which is init:
// ioctl_tty(2).
func (d *Desk) leads() (leads bool) {
	_ = sys.Control(d.master, func(fd int) error { // an error means that the jail has ended
		session, err := unix.IoctlGetInt(fd, unix.TIOCGSID)
		if err != nil {
			return err
		}
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		leads = err == nil && group == session
		return err
	})
	return leads
}

// read returns what was typed, or -1 at the end.
func (d *Desk) read(buf []byte) int {
	d.mu.Lock()
	for !d.attached && !d.ended {
		d.change.Wait()
	}
	p := [2]unix.PollFd{{Fd: int32(d.in), Events: unix.POLLIN}, {Fd: int32(d.ends), Events: unix.POLLIN}}
	ended := d.ended
	d.mu.Unlock()
	if ended {
		return -1
	}
	_, err := sys.Retry(func() (int, error) { return unix.Poll(p[:], -1) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil || d.ended || p[1].Revents != 0 {
		return -1
	}
	if !d.attached {
		return 0
	}
	n, err := unix.Read(d.in, buf)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return 0
	case err != nil || n == 0:
		return -1
	}
	return n
}

// Stopped asks for the caller's terminal when job control has stopped the payload for want of it. It reports whether
// the payload is to have the foreground of its own terminal.
func (d *Desk) Stopped(sig unix.Signal) bool {
	if d == nil || sig != unix.SIGTTIN && sig != unix.SIGTTOU {
		return false
	}
	newly, err := d.attach(sig == unix.SIGTTIN)
	if err != nil { // nobody could continue this process: its input has ended
		_, _ = d.master.Write([]byte{4}) // termios(3) VEOF; an error means that the jail has ended
	}
	return newly || err != nil // otherwise it had stopped before it had the foreground, and was continued with that
}

// Leave hands the caller's terminal back before this process stops. It reports whether there is a terminal.
func (d *Desk) Leave() bool {
	if d != nil {
		d.detach()
	}
	return d != nil
}
