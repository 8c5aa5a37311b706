package api

import (
	"context"
	"io"
	"os"
	"slices"
)

// stdin is the standard input of a run, filled by successive requests. A writer waits until its data is read.
type stdin struct {
	pieces chan []byte
	rest   []byte
	turn   chan struct{} // one writer at a time

	eof, closed context.Context
	finish      context.CancelFunc // marks that no more will come
	end         context.CancelFunc // marks that the run has stopped reading it
}

func newStdin(first string) *stdin {
	s := &stdin{pieces: make(chan []byte), rest: []byte(first), turn: make(chan struct{}, 1)}
	s.eof, s.finish = context.WithCancel(context.Background())
	s.closed, s.end = context.WithCancel(context.Background())
	return s
}

// Read returns to the run what clients have sent.
func (s *stdin) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		select {
		case s.rest = <-s.pieces:
		case <-s.eof.Done():
			return 0, io.EOF
		case <-s.closed.Done():
			return 0, os.ErrClosed
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// lock waits for the writer's turn. It returns false if the input has ended.
func (s *stdin) lock(ctx context.Context) (release func(), ok bool) {
	select {
	case s.turn <- struct{}{}:
	case <-s.closed.Done():
		return nil, false
	case <-ctx.Done():
		return nil, false
	}
	release = func() { <-s.turn }
	if s.eof.Err() != nil {
		release()
		return nil, false
	}
	return release, true
}

// write passes a piece to the reader. It returns false if the input is closed.
func (s *stdin) write(ctx context.Context, p []byte) bool {
	select {
	case s.pieces <- slices.Clone(p):
		return true
	case <-s.closed.Done():
	case <-ctx.Done():
	}
	return false
}
