package nsjail

import (
	"os"

	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// Signals are what a shell or a supervisor sends to the keeper of one jail: INT TERM HUP QUIT USR1 USR2 TSTP CONT
// WINCH, less those that the caller ignores.
type Signals struct{ pipe *os.File }

// CatchSignals catches them from now on, for the whole process and for good, in place of the Go runtime. It is for a
// program that lives as long as its jail, as cmd/brig does; others use os/signal.
func CatchSignals() *Signals {
	if fd := stage.CatchSignals(); fd >= 0 {
		return &Signals{os.NewFile(uintptr(fd), "signals")}
	}
	return &Signals{}
}

// Next waits for a signal; false means that Close was called.
func (s *Signals) Next() (unix.Signal, bool) {
	var b [1]byte
	if s.pipe == nil {
		return 0, false
	}
	if n, err := s.pipe.Read(b[:]); err != nil || n != 1 {
		return 0, false
	}
	return unix.Signal(b[0]), true
}

// Close ends Next.
func (s *Signals) Close() error {
	if s.pipe == nil {
		return nil
	}
	return s.pipe.Close()
}
