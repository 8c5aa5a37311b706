package client

import (
	"brig/brigd/engine"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

const (
	exitTimeout = 124 // as of brig run
	exitSignal  = 128
)

// Code returns the exit code for a command that has run, as brig run's, or -1 if it is known of none.
func Code(a *engine.Response) int {
	switch {
	case a.TimedOut:
		return exitTimeout
	case a.Signal != "":
		return exitSignal + (&nsjail.Result{Signal: a.Signal}).SignalNumber()
	case a.ExitCode == 0 && a.Status != string(nsjail.StatusOK): // it hit a limit, which must not pass for success
		return exitSignal + int(unix.SIGKILL)
	}
	return a.ExitCode
}
