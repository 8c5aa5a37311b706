package nsjail

import (
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// seat is a payload's terminal in place of the caller's, if the streams have one: see run.Streams.Seat.
type seat struct {
	streams *run.Streams
	first   *run.Process
}

// awaitEnd waits for the last report, and meanwhile answers for the payload's terminal.
func (t *seat) awaitEnd() {
	for t.first.Await(); t.streams.Seat && t.first.Next() == launcher.ReportStop; t.first.Await() {
		rep, _, err := t.first.Receive()
		if err != nil {
			return
		}
		switch sig := unix.Signal(rep.A); {
		case t.streams.Desk().Stopped(sig):
			_ = t.first.Tell(launcher.TellForeground)
		case sig == unix.SIGTSTP: // Ctrl-Z at the payload's terminal: it is for this process's whole group
			t.leave()
			_ = unix.Kill(0, unix.SIGTSTP)
		}
	}
}

// leave hands the caller's terminal back before this process stops.
func (t *seat) leave() {
	if t.streams.Desk().Leave() {
		_ = t.first.Tell(launcher.TellBackground)
	}
}

// before does for the payload's terminal what a signal of the caller's means.
func (t *seat) before(s unix.Signal) {
	switch {
	case !t.streams.Seat:
	case s == unix.SIGTSTP:
		t.leave()
	case s == unix.SIGWINCH:
		t.streams.Desk().Resize()
	}
}
