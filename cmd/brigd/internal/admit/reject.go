package admit

import (
	"fmt"
	"time"

	"brig/nsjail"
)

// The codes of a Rejected's Refusal.
const (
	CodeQueueFull   = "queue_full"
	CodeRateLimited = "rate_limited"
	CodeDraining    = "draining"
)

// drainRetry is when to ask again a server that ends: another may have taken its place.
const drainRetry = 5 * time.Second

// The bounds of what a full queue's guess may be.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// Rejected is a run that was not let in.
type Rejected struct {
	// Refusal has Layer "queue" and one of the codes.
	Refusal *nsjail.Refusal
	// RetryAfter is when it makes sense to ask again; more than 0.
	RetryAfter time.Duration
}

// Error is the Refusal's.
func (r *Rejected) Error() string { return r.Refusal.Error() }

// Unwrap returns the Refusal.
func (r *Rejected) Unwrap() error { return r.Refusal }

// RetrySeconds is RetryAfter in whole seconds, rounded up, as the header Retry-After has it: at least 1.
func (r *Rejected) RetrySeconds() int {
	return max(1, int((r.RetryAfter+time.Second-1)/time.Second))
}

// refuse makes a Rejected.
func (g *Gate) refuse(code string, retry time.Duration) *Rejected {
	r := &Rejected{RetryAfter: max(retry, time.Millisecond)}
	again := fmt.Sprintf("send the same request again in %d s", r.RetrySeconds())
	r.Refusal = &nsjail.Refusal{Code: code, Layer: "queue", NextSteps: []string{again}}
	switch code {
	case CodeQueueFull:
		r.Refusal.Message = "as many runs wait as may wait"
		r.Refusal.Rule = "queue"
		r.Refusal.NextSteps = append(r.Refusal.NextSteps, "or let your earlier runs end, or cancel them")
	case CodeRateLimited:
		r.Refusal.Message = fmt.Sprintf("you ask for runs faster than %g a second", g.o.Rate)
		r.Refusal.Rule = "rate"
		r.Refusal.NextSteps = append(r.Refusal.NextSteps, "or do more in each run")
	default:
		r.Refusal.Message = "the server is shutting down and starts no more runs"
	}
	return r
}

// retry guesses when a place in a full queue is free.
func (g *Gate) retry() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.retryLocked()
}

// retryLocked is the time in which half of what waits has been started.
func (g *Gate) retryLocked() time.Duration {
	half := time.Duration(g.depth/2+1) * g.held / time.Duration(g.o.Running)
	return min(max(half, minRetry), maxRetry)
}
