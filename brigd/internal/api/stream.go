package api

import (
	"context"

	"brig/brigd/engine"
	"brig/brigd/internal/feed"
	"brig/brigd/internal/front"
)

// stream writes the events of a run as they arrive.
type stream struct {
	*call
	kind   string
	in     *feed.Feed
	cancel context.CancelCauseFunc
	going  *going
	run    *run // of going, once it has started
	broken error
}

// stream answers with the events of a run while it is running.
func (h *runHandlers) stream(ctx context.Context, c *call, req *engine.Request, s *stream) error {
	write := s.write
	if c.R.Header.Get(front.WholeHeader) != "" {
		req.Watch, write = s.write, nil
	}
	resp := h.runner.Run(ctx, c.Caller, req, write)
	req.Ended()
	if s.run != nil {
		h.going.remove(s.run)
	}
	if resp.Error != nil && !c.Wrote() {
		c.ran(resp.ID)
		return front.Later(resp.Error, resp.RetryAfter)
	}
	if s.broken == nil {
		s.write(engine.Event{Type: "end", ID: resp.ID, Result: resp})
	}
	if s.broken != nil {
		c.Gone(s.broken)
	}
	return nil
}

// write writes one event. If the client has disconnected or does not read in time, the run is cancelled.
func (s *stream) write(e engine.Event) {
	if s.broken != nil {
		return
	}
	if !s.Wrote() {
		s.ran(e.ID)
		s.streams(s.kind)
	}
	if e.Type == "start" {
		s.Run = e.ID
		s.run = s.going.add(s.Caller, e.ID, s.in, s.cancel)
	}
	err := s.event(s.kind, e.Type, e)
	if err == nil {
		err = s.FlushError()
	}
	if err != nil {
		s.broken = err
		s.cancel(err)
	}
}
