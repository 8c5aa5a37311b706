package main

import (
	"os"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// forwardSignals forwards caught signals to a running jail, including those that arrived before it ran. After SIGTERM,
// SIGHUP or a second SIGINT the payload has the time of --grace to end. A first SIGINT may be meant to interrupt only a
// part of the payload's work, and starts no grace period. Ctrl-Z stops the jail and then brig itself, and fg continues
// both: signal(7). When the window size changes, the payload's terminal gets the new size, and the kernel sends the
// payload SIGWINCH.
func forwardSignals(c *nsjail.Cmd, caught *nsjail.Signals, s *screen) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		interrupted := false
		for sig, ok := caught.Next(); ok; sig, ok = caught.Next() {
			// An error means that the jail has ended and the signal is moot.
			switch {
			case sig == unix.SIGWINCH && s != nil:
				s.resize()
			case sig == unix.SIGTERM, sig == unix.SIGHUP, sig == unix.SIGINT && interrupted:
				_ = c.Stop(sig)
			default:
				_ = c.Signal(sig)
			}
			interrupted = interrupted || sig == unix.SIGINT
			if sig == unix.SIGTSTP && !caught.Continued() {
				s.restore()
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
				s.resume()
			}
		}
	}()
	return func() {
		_ = caught.Close() // an error has no effect on the caller
		<-done
	}
}
