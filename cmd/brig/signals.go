package main

import (
	"os"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// catchSignals gives what a shell or a supervisor sends to brig. The binary's constructor holds these signals back
// from the first moment: one that comes during set-up is not lost.
func catchSignals() *nsjail.Signals { return nsjail.EarlySignals() }

// forwardSignals passes the signals on to a jail that runs. Ctrl-Z stops the whole jail and then brig itself, and fg
// continues both: signal(7).
func forwardSignals(c *nsjail.Cmd, held *nsjail.Signals) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s, ok := held.Next(); ok; s, ok = held.Next() {
			// An error means that the jail has ended: there is nobody to tell.
			_ = c.Signal(s)
			if s == unix.SIGTSTP {
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			}
		}
	}()
	return func() {
		_ = held.Close() // it holds nothing that could be lost
		<-done
	}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }
