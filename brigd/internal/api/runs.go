package api

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"brig/brigd/engine"
)

// run is a streamed run under way, in server.runs so that its agent can cancel it and send it input.
type run struct {
	agent, id string
	chain     []string // the ids of the token that started it, the issuer's block first; none without a token
	in        *stdin
	cancel    context.CancelCauseFunc
	done      context.Context // ends with the run, by end
	end       context.CancelFunc
}

// isFor reports whether a caller may control the run. The caller must be the run's agent, with the token that started
// it, with a token from which that one was narrowed, or without a token. A narrowed token would otherwise gain the
// rights of its parent.
func (r *run) isFor(c engine.Caller) bool {
	chain := c.Grant.IDs()
	return r.agent == c.Name() && len(chain) <= len(r.chain) && slices.Equal(chain, r.chain[:len(chain)])
}

// find returns a run that the caller may control; any other run is reported as unknown.
func (c *call) find() (*run, error) {
	if r, ok := c.runs.Load(c.id); ok && r.(*run).isFor(c.Caller) {
		c.Run = c.id
		return r.(*run), nil
	}
	return nil, no("request", "run_unknown", "id", "no streamed run with this id goes on",
		"take the id from the run's start event, before its end event")
}

func (c *call) getRun() (any, error) {
	r, err := c.find()
	if err != nil {
		if info, failed := c.lookUp(); failed != nil || info != nil {
			return info, failed
		}
		return nil, err
	}
	u := c.Live.Run(r.id)
	return RunInfo{ID: u.ID, Usage: u.Usage, NoUsage: u.NoUsage, State: stateRunning}, nil
}

func (c *call) cancelRun() (any, error) {
	r, err := c.find()
	if err != nil {
		if ok, failed := c.cancelQueued(); failed != nil || ok {
			return nil, failed
		}
		return nil, err
	}
	r.cancel(context.Canceled)
	select {
	case <-r.done.Done():
		return nil, nil
	case <-c.R.Context().Done():
		return nil, c.R.Context().Err()
	}
}

// sendStdin answers POST /v1/runs/{id}/stdin. It reads no more of the body than the run reads of its input.
func (c *call) sendStdin() (any, error) {
	if err := c.mediaType(binary); err != nil {
		return nil, err
	}
	r, err := c.find()
	if err != nil {
		return nil, err
	}
	if r.in == nil {
		return nil, no("request", "stdin_not_streamed", "id", "the run takes no input from here",
			"start it with ?stdin=stream")
	}
	release, ok := r.in.lock(c.R.Context())
	if !ok {
		return nil, c.stdinClosed()
	}
	defer release()
	stop := c.stopReading(r)
	defer stop()
	var taken int64
	buf := make([]byte, 32<<10)
	for {
		n, err := c.readPiece(r, buf)
		if n > 0 && !r.in.write(c.R.Context(), buf[:n]) {
			return nil, c.stdinClosed()
		}
		taken += int64(n)
		if err == io.EOF {
			c.Taken = true
			break
		}
		if err != nil && r.done.Err() != nil {
			return nil, c.stdinClosed()
		}
		if err != nil {
			return nil, c.BodyFailed(err, 0)
		}
	}
	if c.yes("eof") {
		r.in.finish()
	}
	stop()
	return StdinTaken{taken}, nil
}

// readPiece reads a part of the body, with the time limit BodyTime.
func (c *call) readPiece(r *run, buf []byte) (int, error) {
	c.ReadTime(c.BodyTime)
	if r.done.Err() != nil { // stopReading may have set its deadline before this one
		return 0, os.ErrDeadlineExceeded
	}
	return c.R.Body.Read(buf)
}

// stopReading interrupts a Read of the body when the run ends. stop undoes that.
func (c *call) stopReading(r *run) (stop func()) {
	interrupted := make(chan struct{})
	forget := context.AfterFunc(r.done, func() {
		defer close(interrupted)
		_ = c.Control.SetReadDeadline(time.Unix(1, 0)) // otherwise only the client's next bytes would end the Read
	})
	return sync.OnceFunc(func() {
		if !forget() {
			<-interrupted
		}
		c.ReadTime(0)
	})
}

func (c *call) stdinClosed() error {
	c.Header().Set("Connection", "close")
	return no("request", "stdin_closed", "id", "the run's input has ended, or the run has",
		"send input before eof=1 and before the end event")
}

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
