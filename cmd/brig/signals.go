package main

import (
	"os"
	"os/signal"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// catchSignals holds back what a shell or a supervisor sends to brig, from before there is a jail: a signal that comes
// during set-up must not be lost. What the caller ignores stays ignored, as under nohup(1). It has to be os/signal: Go
// unblocks SIGINT, SIGTERM, SIGHUP and SIGQUIT in every thread, so that a signalfd(2) alone would miss them.
func catchSignals() chan os.Signal {
	ch := make(chan os.Signal, 16)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGTSTP,
		unix.SIGCONT, unix.SIGWINCH} {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	return ch
}

// forwardSignals passes caught signals on to a jail that runs. Ctrl-Z stops the whole jail and then brig itself, and
// fg continues both: signal(7).
func forwardSignals(c *nsjail.Cmd, caught chan os.Signal) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range caught {
			// An error means that the jail has ended: there is nobody to tell.
			_ = c.Signal(s)
			if s == unix.SIGTSTP {
				_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
			}
		}
	}()
	return func() {
		signal.Stop(caught)
		close(caught)
		<-done
	}
}

func signalNumber(name string) int { return int(unix.SignalNum(name)) }
