package api

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/feed"
)

// run is a streamed run under way.
type run struct {
	agent, id string
	chain     []string // the ids of the token that started it, the issuer's block first; none without a token
	in        *feed.Feed
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

// going are the streamed runs under way, so that their agents can cancel them and send them input.
type going struct{ runs sync.Map } // *run by its id

// add notes a run of a caller's that has started, until remove.
func (g *going) add(c engine.Caller, id string, in *feed.Feed, cancel context.CancelCauseFunc) *run {
	r := &run{agent: c.Name(), id: id, chain: c.Grant.IDs(), in: in, cancel: cancel}
	r.done, r.end = context.WithCancel(context.Background())
	g.runs.Store(id, r)
	return r
}

func (g *going) remove(r *run) {
	g.runs.Delete(r.id)
	r.end()
}

// find returns a run that the caller may control; any other run is reported as unknown.
func (g *going) find(c *call) (*run, error) {
	if r, ok := g.runs.Load(c.id); ok && r.(*run).isFor(c.Caller) {
		c.Run = c.id
		return r.(*run), nil
	}
	return nil, no("request", "run_unknown", "id", "no streamed run with this id goes on",
		"take the id from the run's start event, before its end event")
}

func (h *runHandlers) get(c *call) (any, error) {
	r, err := h.going.find(c)
	if err != nil {
		if info, failed := h.queue.lookUp(c); failed != nil || info != nil {
			return info, failed
		}
		return nil, err
	}
	u := h.live.Run(r.id)
	return RunInfo{ID: u.ID, Usage: u.Usage, NoUsage: u.NoUsage, State: stateRunning}, nil
}

func (h *runHandlers) cancel(c *call) (any, error) {
	r, err := h.going.find(c)
	if err != nil {
		if ok, failed := h.queue.cancel(c); failed != nil || ok {
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
func (h *runHandlers) sendStdin(c *call) (any, error) {
	if err := c.mediaType(binary); err != nil {
		return nil, err
	}
	r, err := h.going.find(c)
	if err != nil {
		return nil, err
	}
	if r.in == nil {
		return nil, no("request", "stdin_not_streamed", "id", "the run takes no input from here",
			"start it with ?stdin=stream")
	}
	release, ok := r.in.Lock(c.R.Context())
	if !ok {
		return nil, stdinClosed(c)
	}
	defer release()
	stop := r.stopReading(c)
	defer stop()
	var taken int64
	buf := make([]byte, 32<<10)
	for {
		n, err := r.readPiece(c, buf, h.bodyTime)
		if n > 0 && !r.in.Write(c.R.Context(), buf[:n]) {
			return nil, stdinClosed(c)
		}
		taken += int64(n)
		if err == io.EOF {
			c.Taken = true
			break
		}
		if err != nil && r.done.Err() != nil {
			return nil, stdinClosed(c)
		}
		if err != nil {
			return nil, c.BodyFailed(err, 0)
		}
	}
	if c.yes("eof") {
		r.in.Finish()
	}
	stop()
	return StdinTaken{taken}, nil
}

// readPiece reads a part of the body, with a time limit.
func (r *run) readPiece(c *call, buf []byte, limit time.Duration) (int, error) {
	c.ReadTime(limit)
	if r.done.Err() != nil { // stopReading may have set its deadline before this one
		return 0, os.ErrDeadlineExceeded
	}
	return c.R.Body.Read(buf)
}

// stopReading interrupts a Read of the body when the run ends. stop undoes that.
func (r *run) stopReading(c *call) (stop func()) {
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

func stdinClosed(c *call) error {
	c.Header().Set("Connection", "close")
	return no("request", "stdin_closed", "id", "the run's input has ended, or the run has",
		"send input before eof=1 and before the end event")
}
