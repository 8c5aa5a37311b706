package main

import (
	"os"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// forwardSignals passes caught signals on to a jail that runs; those of the time before come first. Ctrl-Z stops the
// whole jail and then brig itself, and fg continues both: signal(7). A new size of the window goes to the payload's
// terminal, which then signals by itself.
func forwardSignals(c *nsjail.Cmd, caught *nsjail.Signals, s *screen) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig, ok := caught.Next(); ok; sig, ok = caught.Next() {
			if sig == unix.SIGWINCH && s != nil {
				s.resize()
				continue
			}
			// An error means that the jail has ended: there is nobody to tell.
			_ = c.Signal(sig)
			if sig == unix.SIGTSTP {
				s.restore()
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
				s.resume()
			}
		}
	}()
	return func() {
		_ = caught.Close() // it holds nothing that anybody waits for
		<-done
	}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }
