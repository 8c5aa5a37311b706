package run

import (
	"io"
	"os"

	"brig/internal/sys"
	"brig/nsjail/internal/desk"
)

// Reading is how much of the payload's streams the keeper copies.
type Reading uint8

const (
	// Lends: the caller's files become streams where they can.
	Lends Reading = iota
	// Copies: the keeper reads the output.
	Copies
	// Pipes: the payload gets pipes only, and they are read as long as there is a process that may write. Open returns -1
	// for a stream that is not set (Null).
	Pipes
)

// Null tells which streams are not set. A terminal takes the place of all three.
func (s *Streams) Null() [3]bool {
	return [3]bool{s.TTY || s.In == nil, s.TTY || s.Out[0] == nil, s.TTY || s.Out[1] == nil}
}

// Controlling returns 1 more than the number of the first stream that is the caller's controlling terminal and would be
// lent, or 0.
func Controlling(in io.Reader, out [2]io.Writer, read bool) int {
	for i, s := range []any{in, out[0], out[1]} {
		f, ok := s.(*os.File)
		if !ok || f == nil || i > 0 && read {
			continue
		}
		controls := false
		_ = sys.Control(f, func(fd int) error { controls = desk.Controls(fd); return nil }) // a closed file does not
		if controls {
			return i + 1
		}
	}
	return 0
}
