package main

import (
	"os"
	"strconv"
	"strings"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// forwardSignals passes caught signals on to a jail that runs; those of the time before come first. After one that asks for
// the end, the payload has a time for it (--grace); a first SIGINT may be meant for what the payload is doing. Ctrl-Z stops
// the whole jail and then brig itself, and fg continues both: signal(7). A new size of the window goes to the payload's
// terminal, which then signals by itself.
func forwardSignals(c *nsjail.Cmd, caught *nsjail.Signals, s *screen) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		interrupted := false
		for sig, ok := caught.Next(); ok; sig, ok = caught.Next() {
			// An error means that the jail has ended: there is nobody to tell.
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
		_ = caught.Close() // it holds nothing that anybody waits for
		<-done
	}
}

// signalNumber is the number of a signal of a Result. Real-time signals have no names: SIG40.
func signalNumber(name string) int {
	if n := unix.SignalNum(name); n != 0 {
		return int(n)
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "SIG")) // nsjail has written it
	return n
}
