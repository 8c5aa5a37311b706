// Package feed is the input of something that runs, sent to it in pieces by one call after another.
package feed

import (
	"context"
	"io"
	"os"
	"slices"
)

// Feed is the standard input of a run, filled by successive requests. A writer waits until its data is read.
type Feed struct {
	pieces chan []byte
	rest   []byte
	turn   chan struct{} // one writer at a time

	eof, closed context.Context
	// Finish marks that no more will come, and End that the run has stopped reading.
	Finish, End context.CancelFunc
}

// New returns a Feed that begins with a text.
func New(first string) *Feed {
	s := &Feed{pieces: make(chan []byte), rest: []byte(first), turn: make(chan struct{}, 1)}
	s.eof, s.Finish = context.WithCancel(context.Background())
	s.closed, s.End = context.WithCancel(context.Background())
	return s
}

// Read returns to the run what clients have sent.
func (s *Feed) Read(p []byte) (int, error) {
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

// Lock waits for the writer's turn. It returns false if the input has ended.
func (s *Feed) Lock(ctx context.Context) (release func(), ok bool) {
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

// Write passes a piece to the reader. It returns false if the input is closed.
func (s *Feed) Write(ctx context.Context, p []byte) bool {
	select {
	case s.pieces <- slices.Clone(p):
		return true
	case <-s.closed.Done():
	case <-ctx.Done():
	}
	return false
}
