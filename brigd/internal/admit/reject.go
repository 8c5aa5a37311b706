package admit

import (
	"fmt"
	"time"

	"brig/brigd/job"
)

// The codes of Rejected.Refusal.
const (
	codeQueueFull   = "queue_full"
	codeRateLimited = "rate_limited"
	codeDraining    = "draining"
)

// drainRetry is when to ask again a server that shuts down: its replacement may be running by then.
const drainRetry = 5 * time.Second

// The bounds of the estimate for a full queue.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// Rejected is the error for a run that was not admitted.
type Rejected struct {
	// Refusal has Layer "queue" and one of the codes.
	Refusal *job.Refusal
	// RetryAfter is the time after which a new attempt makes sense; it is positive.
	RetryAfter time.Duration
}

// Error returns the text of the Refusal.
func (r *Rejected) Error() string { return r.Refusal.Error() }

// Unwrap returns the Refusal.
func (r *Rejected) Unwrap() error { return r.Refusal }

// RetrySeconds returns RetryAfter in whole seconds, rounded up, for the header Retry-After: at least 1.
func (r *Rejected) RetrySeconds() int {
	return max(1, int((r.RetryAfter+time.Second-1)/time.Second))
}

// refuse returns a Rejected.
func (g *Gate) refuse(code string, retry time.Duration) *Rejected {
	r := &Rejected{RetryAfter: max(retry, time.Millisecond)}
	again := fmt.Sprintf("send the same request again in %d s", r.RetrySeconds())
	r.Refusal = &job.Refusal{Code: code, Layer: "queue", NextSteps: []string{again}}
	switch code {
	case codeQueueFull:
		r.Refusal.Message = "as many runs wait as may wait"
		r.Refusal.Rule = "queue"
		r.Refusal.NextSteps = append(r.Refusal.NextSteps, "or let your earlier runs end, or cancel them")
	case codeRateLimited:
		r.Refusal.Message = fmt.Sprintf("you ask for runs faster than %g a second", g.o.Rate)
		r.Refusal.Rule = "rate"
		r.Refusal.NextSteps = append(r.Refusal.NextSteps, "or do more in each run")
	default:
		r.Refusal.Message = "the server is shutting down and starts no more runs"
	}
	return r
}

// retry estimates when a full queue has room: the time in which half of the waiting runs will have started.
func (g *Gate) retry() time.Duration {
	half := time.Duration(len(g.queue)/2+1) * g.held / time.Duration(g.o.Running)
	return min(max(half, minRetry), maxRetry)
}
