package nsjail

import (
	"encoding/binary"
	"os"

	"brig/nsjail/internal/stage"

	"golang.org/x/sys/unix"
)

// Signals are the ones that a binary's constructor holds back (see EarlyRunner): INT TERM HUP QUIT USR1 USR2 TSTP CONT
// WINCH, less those that the caller ignores.
type Signals struct{ fd *os.File }

// EarlySignals gives them, once; without an early stage there are none, and signals act as usual.
func EarlySignals() *Signals {
	if fd := stage.EarlySignals(); fd >= 0 {
		return &Signals{os.NewFile(uintptr(fd), "signalfd")}
	}
	return &Signals{}
}

// Next waits for a signal; false means that Close was called.
func (s *Signals) Next() (unix.Signal, bool) {
	var info [128]byte // struct signalfd_siginfo: signalfd(2)
	if s.fd == nil {
		return 0, false
	}
	if n, err := s.fd.Read(info[:]); err != nil || n != len(info) {
		return 0, false
	}
	return unix.Signal(binary.NativeEndian.Uint32(info[:])), true
}

// Close ends Next.
func (s *Signals) Close() error {
	if s.fd == nil {
		return nil
	}
	return s.fd.Close()
}
