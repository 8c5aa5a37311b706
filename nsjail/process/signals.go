package process

import (
	"bytes"
	"errors"
	"os"
	"time"

	"brig/internal/sys"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// Signals delivers the signals that a shell or a supervisor sends to the keeper of one jail: INT TERM HUP QUIT ABRT
// USR1 USR2 TSTP CONT WINCH, except those that the caller ignores.
type Signals struct {
	pipe  *os.File
	queue []byte
}

// CatchSignals catches these signals for the whole process and permanently, in place of the Go runtime. It is for a
// program that lives as long as its jail, such as cmd/brig; others use os/signal.
func CatchSignals() *Signals {
	if fd := launcher.CatchSignals(); fd >= 0 {
		return &Signals{pipe: os.NewFile(uintptr(fd), "signals")}
	}
	return &Signals{}
}

// Next waits for a signal and returns it, or 0 after Wake. It returns false after Close. A SIGTSTP that is followed by
// a SIGCONT is dropped, as the kernel drops a pending one: signal(7).
func (s *Signals) Next() (unix.Signal, bool) {
	var b [64]byte
	for len(s.queue) == 0 {
		n, err := s.pipe.Read(b[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return 0, s.pipe.SetReadDeadline(time.Time{}) == nil
		}
		if err != nil { // it is closed, or there is none
			return 0, false
		}
		s.add(b[:n])
	}
	sig := s.queue[0]
	s.queue = s.queue[1:]
	return unix.Signal(sig), true
}

func (s *Signals) add(b []byte) {
	s.queue = append(s.queue, b...)
	if last := bytes.LastIndexByte(s.queue, byte(unix.SIGCONT)); last >= 0 {
		s.queue = append(bytes.ReplaceAll(s.queue[:last], []byte{byte(unix.SIGTSTP)}, nil), s.queue[last:]...)
	}
}

// Wake makes a call of Next that waits, or the next one that would, return 0 and true.
func (s *Signals) Wake() {
	if s.pipe != nil {
		_ = s.pipe.SetReadDeadline(time.Unix(1, 0)) // an error means that it is closed
	}
}

// Continued reports whether a SIGCONT has arrived that Next has not returned yet.
func (s *Signals) Continued() bool {
	_ = sys.Control(s.pipe, func(fd int) error { // an error means that the pipe is closed: the jail has ended
		var b [64]byte
		n, err := unix.Read(fd, b[:]) // EAGAIN: no signal is pending
		s.add(b[:max(n, 0)])
		return err
	})
	return bytes.IndexByte(s.queue, byte(unix.SIGCONT)) >= 0
}

// Close makes Next return false.
func (s *Signals) Close() error {
	if s.pipe == nil {
		return nil
	}
	return s.pipe.Close()
}
