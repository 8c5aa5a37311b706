package api

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/cgroup"
)

// The states of a run of a queue.
const (
	stateQueued  = "queued"
	stateRunning = "running"
	stateEnded   = "ended"
)

// RunInfo is the answer to GET /v1/runs/{id}, and to a run that is not waited for.
type RunInfo struct {
	// ID names the run.
	ID string `json:"id"`
	// Usage is what its control group uses now: see the list of a sandbox's runs. NoUsage is why there is none.
	Usage   *cgroup.LiveUsage `json:"usage,omitempty"`
	NoUsage string            `json:"no_usage,omitempty"`
	// State is queued, running or ended. A run without a queue is running: its answer is the result.
	State string `json:"state"`
	// Queue is where a run of a queue goes on.
	Queue *engine.Delivery `json:"queue,omitempty"`
	// Result is there once the run has ended.
	Result *engine.Response `json:"result,omitempty"`
}

// queueHandlers answer requests about the queue, and about runs in it.
type queueHandlers struct{ queue front.Queue } // nil for none

// keyPattern is the form of an Idempotency-Key.
var keyPattern = regexp.MustCompile(`^[!-~]{1,255}$`)

// asked reads the headers that are about a queue. later reports whether the result is to be fetched later.
func (h *queueHandlers) asked(c *call, req *engine.Request) (later bool, err error) {
	header := c.R.Header
	if keys := header.Values("Idempotency-Key"); len(keys) > 0 {
		switch {
		case h.queue == nil:
			return false, no("request", "no_queue", "Idempotency-Key", "this brigd has no queue that would recognize it",
				"leave Idempotency-Key out")
		case len(keys) > 1 || !keyPattern.MatchString(keys[0]):
			return false, no("request", "bad_key", "Idempotency-Key", "the header Idempotency-Key is no single word",
				"send 1 to 255 printable characters without spaces")
		}
		req.Key = keys[0]
	}
	if req.Urgency, err = urgency(header.Get("Priority")); err != nil {
		return false, err
	}
	for part := range strings.SplitSeq(strings.Join(header.Values("Prefer"), ","), ",") { // RFC 7240
		name, _, _ := strings.Cut(part, ";")
		later = later || strings.EqualFold(strings.TrimSpace(name), "respond-async")
	}
	return later && h.queue != nil, nil
}

// urgency returns the class of a Priority (RFC 9218): u=0 to u=2 are before others, u=4 to u=7 after them.
func urgency(priority string) (int, error) {
	for part := range strings.SplitSeq(priority, ",") {
		value, ok := strings.CutPrefix(strings.TrimSpace(part), "u=")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 0 || n > 7:
			return 0, no("request", "bad_priority", "Priority", "the urgency in the header Priority is none",
				"write u=0 (first) to u=7 (last); u=3 is usual")
		case n < 3:
			return 1, nil
		case n > 3:
			return -1, nil
		}
	}
	return 0, nil
}

// submit answers with 202 and the id of a run that has been put into the queue.
func (h *queueHandlers) submit(ctx context.Context, c *call, req *engine.Request) (any, error) {
	if c.query.Has("stdin") || req.Sandbox != "" {
		return nil, no("request", "not_queued", "Prefer",
			"a run in a sandbox, or whose input is streamed, has to be waited for",
			"leave Prefer: respond-async out")
	}
	id, a := h.queue.Submit(ctx, c.Caller, req)
	if a != nil {
		return nil, front.Later(a.Error, a.RetryAfter)
	}
	c.ran(id)
	c.Header().Set("Location", "/v1/runs/"+id)
	c.Header().Set("Preference-Applied", "respond-async")
	c.Answer(http.StatusAccepted, RunInfo{ID: id, State: stateQueued})
	return nil, nil
}

// lookUp returns where a run of the queue is; nil if the caller has submitted none with this id.
func (h *queueHandlers) lookUp(c *call) (*RunInfo, error) {
	if h.queue == nil {
		return nil, nil
	}
	s, err := h.queue.Lookup(c.R.Context(), c.Caller, c.id)
	if err != nil || s == nil {
		return nil, err
	}
	c.Run = c.id
	info := &RunInfo{ID: c.id, State: stateQueued, Queue: s.Running, Result: s.Result}
	switch {
	case s.Result != nil:
		info.State, info.Queue = stateEnded, s.Result.Queue
	case s.Running != nil:
		info.State = stateRunning
	}
	return info, nil
}

// cancelTime bounds the wait for the end of a run of the queue that was cancelled.
const cancelTime = 10 * time.Second

// cancel cancels a run of the queue, and waits for its end. It reports whether there is one.
func (h *queueHandlers) cancel(c *call) (bool, error) {
	if h.queue == nil {
		return false, nil
	}
	ok, err := h.queue.Cancel(c.R.Context(), c.Caller, c.id)
	for end := time.Now().Add(cancelTime); ok && err == nil && time.Now().Before(end); {
		var s *front.QueueState
		if s, err = h.queue.Lookup(c.R.Context(), c.Caller, c.id); err == nil && s != nil && s.Result != nil {
			break
		}
		select {
		case <-c.R.Context().Done():
			return true, c.R.Context().Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return ok, err
}

// info answers GET /v1/queue.
func (h *queueHandlers) info(c *call) (any, error) {
	if err := h.operator(c); err != nil {
		return nil, err
	}
	return h.queue.Info(c.R.Context())
}

// requeue answers POST /v1/queue/{id}/requeue.
func (h *queueHandlers) requeue(c *call) (any, error) {
	if err := h.operator(c); err != nil {
		return nil, err
	}
	return nil, h.queue.Requeue(c.R.Context(), c.id)
}

// operator refuses callers other than the operator at brigd's own Unix socket: the queue has everybody's runs.
func (h *queueHandlers) operator(c *call) error {
	switch {
	case h.queue == nil:
		return no("request", "no_queue", "path", "this brigd has no queue", "start it with --jetstream")
	case !front.Local(c.R) || c.Caller != (engine.Caller{}):
		return no("auth", "operator_only", "path", "only the operator sees the whole queue",
			"call as the user of brigd, at its own Unix socket")
	}
	return nil
}
