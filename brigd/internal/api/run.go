package api

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/feed"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
)

const (
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
	sseType    = "text/event-stream"
)

// runHandlers answer requests to run something, and about streamed runs that go on.
type runHandlers struct {
	runner   front.Runner
	admit    func(ctx context.Context, c engine.Caller, r *engine.Request) (release func(), err error)
	rate     interface{ Ask(caller string) error } // counts a run
	queue    *queueHandlers
	live     *live.Table
	going    *going
	bodyTime time.Duration
}

// run answers POST /v1/run and POST /v1/sandboxes/{id}/exec.
func (h *runHandlers) run(c *call) (any, error) {
	kind, err := accepted(c.R.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	if c.Caller != (engine.Caller{}) { // otherwise the body may name the agent
		if err := h.ask(c); err != nil {
			return nil, err
		}
	}
	var req engine.Request
	if err := h.request(c, &req); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(c.R.Context())
	defer cancel(nil)
	if later, err := h.queue.asked(c, &req); err != nil {
		return nil, err
	} else if later {
		return h.queue.submit(ctx, c, &req)
	}
	if req.Key != "" && (kind != jsonType || req.Sandbox != "" || c.query.Has("stdin")) {
		return nil, no("request", "key_not_kept", "Idempotency-Key",
			"the answer of a run that is streamed, or that is in a sandbox, is not kept for a second request",
			"leave Idempotency-Key out, or ask for the whole answer of a run without a sandbox")
	}
	var in *feed.Feed
	if c.query.Has("stdin") {
		if kind == jsonType {
			return nil, no("request", "stdin_needs_stream", "stdin",
				"a run whose input is streamed has to stream its output, too", "send Accept: "+ndjsonType)
		}
		in = feed.New(req.Stdin)
		defer in.End()
		req.StdinReader = in // the engine bounds Stdin, which stays
	}
	release, err := h.admit(ctx, c.Caller, &req)
	if err != nil {
		return nil, err
	}
	defer release()
	req.Ended = release // a slow reader of the output does not hold the place
	if kind == jsonType {
		return h.whole(ctx, c, &req)
	}
	return nil, h.stream(ctx, c, &req, &stream{call: c, going: h.going, kind: kind, in: in, cancel: cancel})
}

// request reads the body, and counts the run against the caller's rate if that is not done yet.
func (h *runHandlers) request(c *call, req *engine.Request) error {
	if err := c.body(req); err != nil {
		return err
	}
	if err := c.actFor(req.Agent, "agent_id"); err != nil {
		return err
	}
	if !c.asked {
		if err := h.ask(c); err != nil {
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
func (h *runHandlers) ask(c *call) error {
	c.asked = true
	return h.rate.Ask(c.Caller.Key())
}

// whole answers when the run has ended. The place is freed before the answer is written, so that a slow reader does
// not hold it.
func (h *runHandlers) whole(ctx context.Context, c *call, req *engine.Request) (any, error) {
	resp := h.runner.Run(ctx, c.Caller, req, nil)
	req.Ended()
	c.ran(resp.ID)
	if resp.Error != nil {
		return nil, front.Later(resp.Error, resp.RetryAfter)
	}
	return resp, c.R.Context().Err()
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
