package main

import (
	"os"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// forwardSignals passes caught signals on to a jail that runs; those of the time before come first. Ctrl-Z stops the
// whole jail and then brig itself, and fg continues both: signal(7).
func forwardSignals(c *nsjail.Cmd, caught *nsjail.Signals) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s, ok := caught.Next(); ok; s, ok = caught.Next() {
			// An error means that the jail has ended: there is nobody to tell.
			_ = c.Signal(s)
			if s == unix.SIGTSTP {
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			}
		}
	}()
	return func() {
		_ = caught.Close() // it holds nothing that anybody waits for
		<-done
	}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }
