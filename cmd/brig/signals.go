package main

import (
	"os"
	"os/signal"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// forwardSignals passes on what a shell or a supervisor sends to brig. Ctrl-Z stops the whole jail and then brig
// itself, and fg continues both: signal(7).
func forwardSignals(c *nsjail.Cmd) (stop func()) {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP, unix.SIGCONT, unix.SIGWINCH)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range ch {
			// An error means that the jail has not started or has ended: there is nobody to tell.
			_ = c.Signal(s)
			if s == unix.SIGTSTP {
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
		<-done
	}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }
