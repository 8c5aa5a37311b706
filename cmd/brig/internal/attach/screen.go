// Package attach connects the caller's terminal and signals to a jail.
package attach

import (
	"errors"
	"os"
	"slices"
	"sync/atomic"

	"brig/internal/cli"
	"brig/internal/terminal"
	"brig/nsjail"
	"brig/nsjail/process"

	"golang.org/x/sys/unix"
)

// Screen connects the caller's terminal to the payload's. Without a terminal it is nil.
type Screen struct {
	*terminal.Terminal
	master atomic.Pointer[os.File]
}

// Terminal puts the caller's terminal into raw mode, so that every key reaches the payload's line discipline.
func (u *SetUp) Terminal(c *nsjail.Cmd) (*Screen, error) {
	t, err := terminal.Of(u.std.In)
	if err != nil {
		return nil, errors.New("--tty: stdin is not a terminal; leave --tty away")
	}
	s := &Screen{Terminal: t}
	if err := s.Raw(); err != nil {
		return nil, errors.New("--tty: cannot set the terminal: " + cli.Reason(err))
	}
	c.Terminal = func(master *os.File) {
		s.master.Store(master)
		s.resize()
	}
	u.restore = s.Restore
	c.Stdin = u.listen(c)
	return s, nil
}

// Restore resets the caller's terminal. It has no effect if the terminal is gone.
func (s *Screen) Restore() {
	if s != nil {
		s.Terminal.Restore()
	}
}

// resume sets raw mode again, after a stop.
func (s *Screen) resume() {
	if s != nil {
		_ = s.Raw() // it may be gone
		s.resize()
	}
}

// resize copies the size of the caller's terminal to the payload's; the kernel sends the payload SIGWINCH.
func (s *Screen) resize() {
	if s == nil || s.master.Load() == nil {
		return
	}
	size, err := s.Size()
	if err != nil {
		return // the terminal is gone
	}
	rc, err := s.master.Load().SyscallConn()
	if err != nil {
		return
	}
	// the master may be closed already: the payload has ended
	_ = rc.Control(func(fd uintptr) { _ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
}

// Forward forwards caught signals to a jail, those that arrive while it is being made when it runs.
func (u *SetUp) Forward(c *nsjail.Cmd, caught *process.Signals, s *Screen) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		interrupted := false
		for sig, ok := caught.Next(); ok; sig, ok = caught.Next() {
			for _, sig := range u.due(sig) {
				err := forward(c, caught, s, sig, interrupted)
				if err != nil && slices.Contains([]unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT}, sig) {
					u.cancel()
				}
				interrupted = interrupted || sig == unix.SIGINT
			}
		}
	}()
	return func() {
		_ = caught.Close() // an error has no effect on the caller
		<-done
	}
}

// forward passes a signal on. After SIGTERM, SIGHUP or a second SIGINT the payload has the time of --grace to end. A
// first SIGINT may be meant to interrupt only a part of the payload's work, and starts no grace period. Ctrl-Z stops
// the jail and then brig itself, and fg continues both: signal(7). When the window size changes, the payload's terminal
// gets the new size, and the kernel sends the payload SIGWINCH. An error means that the jail has ended and the signal
// is moot.
func forward(c *nsjail.Cmd, caught *process.Signals, s *Screen, sig unix.Signal, interrupted bool) (err error) {
	switch {
	case sig == unix.SIGWINCH && s != nil:
		s.resize()
	case sig == unix.SIGTERM, sig == unix.SIGHUP, sig == unix.SIGINT && interrupted:
		err = c.Stop(sig)
	default:
		err = c.Signal(sig)
	}
	if sig == unix.SIGTSTP && !caught.Continued() {
		s.Restore()
		_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
		s.resume()
	}
	return err
}
