package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"brig/agent/engine"
	"brig/nsjail"
)

const (
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
	sseType    = "text/event-stream"
)

// handleRun answers POST /v1/run and POST /v1/sandboxes/{id}/exec.
func (c *call) handleRun() error {
	kind, err := accepted(c.r.Header.Values("Accept"))
	if err != nil {
		return err
	}
	if c.caller != (engine.Caller{}) { // otherwise the body may name the agent
		if err := c.ask(); err != nil {
			return err
		}
	}
	var req engine.Request
	if err := c.body(&req); err != nil {
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
	if c.id != "" {
		req.Sandbox = c.id
	}
	ctx, cancel := context.WithCancelCause(c.r.Context())
	defer cancel(nil)
	var in *stdin
	if c.query.Has("stdin") {
		if kind == jsonType {
			return no("request", "stdin_needs_stream", "stdin", "a run whose input is streamed has to stream its output, too",
				"send Accept: "+ndjsonType)
		}
		in = newStdin(req.Stdin)
		defer in.end()
		req.StdinReader = in // the engine bounds Stdin, which stays
	}
	release, err := c.enter(ctx)
	if err != nil {
		return err
	}
	defer release()
	req.Ended = release // a slow reader of the output does not hold the place
	if kind == jsonType {
		return c.runWhole(ctx, &req, release)
	}
	return c.runStream(ctx, cancel, &req, kind, in, release)
}

// ask counts one run against the rate of the caller.
func (c *call) ask() error {
	c.asked = true
	if c.Gate == nil {
		return nil
	}
	return c.atGate(c.r.Context(), c.Gate.Ask(c.caller.Key()))
}

// enter waits at the gate. release may be called twice.
func (c *call) enter(ctx context.Context) (release func(), err error) {
	if c.Gate == nil {
		return func() {}, nil
	}
	release, err = c.Gate.Enter(ctx, c.caller.Key())
	if err == nil {
		return sync.OnceFunc(release), nil
	}
	return nil, c.atGate(ctx, err)
}

// atGate converts an error of the gate to a refusal.
func (c *call) atGate(ctx context.Context, err error) error {
	if err == nil || errors.As(err, new(*nsjail.Refusal)) || ctx.Err() != nil {
		return err
	}
	if after := retryAfter(err); after > 0 {
		step := fmt.Sprintf("send the same request again in %d s", after)
		return rejected{no("queue", "queue_full", "queue", err.Error(), step), err}
	}
	return err
}

// rejected is an error of the gate in the form of a refusal.
type rejected struct {
	*nsjail.Refusal
	gate error
}

func (r rejected) Unwrap() []error { return []error{r.Refusal, r.gate} }

// runWhole answers when the run has ended. The place is freed before the answer is written, so that a slow reader does
// not hold it.
func (c *call) runWhole(ctx context.Context, req *engine.Request, release func()) error {
	resp := c.Engine.Run(ctx, c.caller, req, nil)
	release()
	c.ran(resp.ID)
	if resp.Error != nil {
		return resp.Error
	}
	if err := c.r.Context().Err(); err != nil {
		return err
	}
	c.answer(http.StatusOK, resp)
	return nil
}

// ran records a run's id in the answer's headers and in the log.
func (c *call) ran(id string) {
	if !c.wrote && idPattern.MatchString(id) {
		c.run = id
		c.w.Header().Set("X-Run-Id", id)
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
	early  []engine.Event
	broken error
}

// maxEarly is how many events may precede the start event and wait for it: the program may write output before the
// engine reports the start.
const maxEarly = 64

// runStream answers with the events of a run while it is running.
func (c *call) runStream(ctx context.Context, cancel context.CancelCauseFunc, req *engine.Request, kind string,
	in *stdin, release func()) error {
	s := &stream{call: c, kind: kind, in: in, cancel: cancel}
	resp := c.Engine.Run(ctx, c.caller, req, s.event)
	release()
	if s.going != nil {
		c.runs.remove(s.going)
	}
	if resp.Error != nil && !c.wrote {
		c.ran(resp.ID)
		return resp.Error
	}
	if s.broken == nil {
		s.event(engine.Event{Type: "end", ID: resp.ID, Result: resp})
	}
	if s.broken != nil {
		c.status, c.failed = statusGone, s.broken
	}
	return nil
}

// event handles one event: the start event is sent first.
func (s *stream) event(e engine.Event) {
	if s.going == nil && e.Type != "start" && e.Type != "end" && len(s.early) < maxEarly {
		s.early = append(s.early, e)
		return
	}
	before := s.early
	s.early = nil
	if e.Type == "start" {
		s.write(e)
	}
	for _, b := range before {
		s.write(b)
	}
	if e.Type != "start" {
		s.write(e)
	}
}

// write writes one event. If the client has disconnected or does not read in time, the run is cancelled.
func (s *stream) write(e engine.Event) {
	if s.broken != nil {
		return
	}
	if !s.wrote {
		s.ran(e.ID)
		h := s.w.Header()
		h.Set("Content-Type", s.kind)
		h.Set("X-Accel-Buffering", "no") // nginx would buffer the events
		s.head(http.StatusOK)
	}
	if e.Type == "start" && s.going == nil {
		s.run = e.ID
		s.going = s.runs.add(s.caller, e.ID, s.in, s.cancel)
	}
	text, err := encode(e)
	if err == nil {
		if s.kind == sseType {
			text = append([]byte("event: "+e.Type+"\ndata: "), append(text, '\n')...)
		}
		s.writeTime()
		if _, err = s.w.Write(text); err == nil {
			err = s.ctl.Flush()
		}
	}
	if err != nil {
		s.broken = err
		s.cancel(err)
	}
}
