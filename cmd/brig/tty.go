package main

import (
	"errors"
	"os"
	"os/signal"
	"sync"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// terminal connects the caller's terminal to the payload's: raw here, so that every key reaches the payload's line
// discipline, and of the same size, now and whenever the window changes (termios(3), ioctl_tty(2)).
func terminal(c *nsjail.Cmd, std stdio) (restore func(), err error) {
	saved, err := unix.IoctlGetTermios(int(std.in.Fd()), unix.TCGETS)
	if err != nil {
		return nil, errors.New("--tty: stdin is not a terminal; leave --tty away")
	}
	raw := *saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(std.in.Fd()), unix.TCSETS, &raw); err != nil {
		return nil, errors.New("--tty: cannot set the terminal: " + reason(err))
	}
	resized := make(chan os.Signal, 1)
	var once sync.Once
	c.Terminal = func(master *os.File) {
		signal.Notify(resized, unix.SIGWINCH)
		resize(std.in, master)
		go func() {
			for range resized {
				resize(std.in, master)
			}
		}()
	}
	return func() {
		once.Do(func() {
			signal.Stop(resized)
			close(resized)
			// nothing is left to do where the terminal is gone
			_ = unix.IoctlSetTermios(int(std.in.Fd()), unix.TCSETS, saved)
		})
	}, nil
}

// resize copies the size of one terminal to another; the kernel tells the payload with SIGWINCH.
func resize(from, to *os.File) {
	size, err := unix.IoctlGetWinsize(int(from.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return // no terminal any more
	}
	rc, err := to.SyscallConn()
	if err != nil {
		return
	}
	// the master may be closed already: the payload has ended
	_ = rc.Control(func(fd uintptr) { _ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
}
