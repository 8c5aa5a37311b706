package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

const (
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
	sseType    = "text/event-stream"
)

// run answers POST /v1/run and POST /v1/sandboxes/{id}/exec.
func (c *call) run() (any, error) {
	kind, err := accepted(c.R.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	if c.Caller != (engine.Caller{}) { // otherwise the body may name the agent
		if err := c.ask(); err != nil {
			return nil, err
		}
	}
	var req engine.Request
	if err := c.request(&req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(c.R.Context())
	defer cancel(nil)
	if later, err := c.queued(&req); err != nil {
		return nil, err
	} else if later {
		return c.submit(ctx, &req)
	}
	if req.Key != "" && (kind != jsonType || req.Sandbox != "" || c.query.Has("stdin")) {
		return nil, no("request", "key_not_kept", "Idempotency-Key",
			"the answer of a run that is streamed, or that is in a sandbox, is not kept for a second request",
			"leave Idempotency-Key out, or ask for the whole answer of a run without a sandbox")
	}
	var in *stdin
	if c.query.Has("stdin") {
		if kind == jsonType {
			return nil, no("request", "stdin_needs_stream", "stdin",
				"a run whose input is streamed has to stream its output, too", "send Accept: "+ndjsonType)
		}
		in = newStdin(req.Stdin)
		defer in.end()
		req.StdinReader = in // the engine bounds Stdin, which stays
	}
	release, err := c.Admit(ctx, c.Caller, &req)
	if err != nil {
		return nil, err
	}
	defer release()
	req.Ended = release // a slow reader of the output does not hold the place
	if kind == jsonType {
		return c.runWhole(ctx, &req)
	}
	return nil, c.runStream(ctx, cancel, &req, kind, in)
}

// request reads the body, and counts the run against the caller's rate if that is not done yet.
func (c *call) request(req *engine.Request) error {
	if err := c.body(req); err != nil {
		return err
	}
	if err := c.actFor(req.Agent, "agent_id"); err != nil {
		return err
	}
	if !c.asked {
		if err := c.ask(); err != nil {
			return err
		}
	}
	req.Agent = ""
	if c.id != "" && req.Sandbox != "" && req.Sandbox != c.id {
		return no("request", "two_sandboxes", "sandbox", "sandbox: the path names another one", "leave sandbox out")
	}
	req.Sandbox = cmp.Or(c.id, req.Sandbox)
	if id := c.R.Header.Get(front.RunHeader); c.Caller.Counted && front.ID.MatchString(id) { // by another brigd
		req.ID = id
	}
	return nil
}

// ask counts one run against the rate of the caller.
func (c *call) ask() error {
	c.asked = true
	return c.Gate.Ask(c.Caller.Key())
}

// runWhole answers when the run has ended. The place is freed before the answer is written, so that a slow reader does
// not hold it.
func (c *call) runWhole(ctx context.Context, req *engine.Request) (any, error) {
	resp := c.Engine.Run(ctx, c.Caller, req, nil)
	req.Ended()
	c.ran(resp.ID)
	if resp.Error != nil {
		return nil, front.Later(resp.Error, resp.RetryAfter)
	}
	return resp, c.R.Context().Err()
}

// ran records a run's id in the answer's headers and in the log.
func (c *call) ran(id string) {
	if !c.Wrote() && front.ID.MatchString(id) {
		c.Run = id
		c.Header().Set("X-Run-Id", id)
	}
}

// accepted returns the media type of the answer: the first one in the header Accept that is supported.
func accepted(values []string) (string, error) {
	if len(values) == 0 {
		return jsonType, nil
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, params, _ := strings.Cut(part, ";")
		if _, q, ok := strings.Cut(strings.ReplaceAll(params, " ", ""), "q="); ok {
			if v, err := strconv.ParseFloat(q, 64); err != nil || v <= 0 {
				continue
			}
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case jsonType, "application/*", "*/*":
			return jsonType, nil
		case ndjsonType:
			return ndjsonType, nil
		case sseType:
			return sseType, nil
		}
	}
	return "", no("request", "not_acceptable", "Accept", "the answer comes in none of these types",
		"send Accept: "+jsonType+", "+ndjsonType+" or "+sseType)
}

// stream writes the events of a run as they arrive.
type stream struct {
	*call
	kind   string
	in     *stdin
	cancel context.CancelCauseFunc
	going  *run // in the registry, once it has started
	broken error
}

// runStream answers with the events of a run while it is running.
func (c *call) runStream(ctx context.Context, cancel context.CancelCauseFunc, req *engine.Request, kind string,
	in *stdin) error {
	s := &stream{call: c, kind: kind, in: in, cancel: cancel}
	write := s.write
	if c.R.Header.Get(front.WholeHeader) != "" {
		req.Watch, write = s.write, nil
	}
	resp := c.Engine.Run(ctx, c.Caller, req, write)
	req.Ended()
	if s.going != nil {
		c.runs.Delete(s.going.id)
		s.going.end()
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
		s.Header().Set("Content-Type", s.kind)
		s.Header().Set("X-Accel-Buffering", "no") // nginx would buffer the events
	}
	if e.Type == "start" {
		s.Run = e.ID
		s.going = &run{agent: s.Caller.Name(), id: e.ID, chain: s.Caller.Grant.IDs(), in: s.in, cancel: s.cancel}
		s.going.done, s.going.end = context.WithCancel(context.Background())
		s.runs.Store(e.ID, s.going)
	}
	text, err := json.Marshal(e)
	if err == nil {
		before, after := "", "\n"
		if s.kind == sseType {
			before, after = "event: "+e.Type+"\ndata: ", "\n\n"
		}
		if _, err = fmt.Fprintf(s, "%s%s%s", before, text, after); err == nil {
			err = s.FlushError()
		}
	}
	if err != nil {
		s.broken = err
		s.cancel(err)
	}
}
