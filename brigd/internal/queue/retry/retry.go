// Package retry calls the queue's server until it answers. A client that has lost its server connects again for ever;
// what it asks meanwhile fails, and is asked again.
package retry

import (
	"context"
	"errors"
	"time"

	"brig/brigd/job"
)

const (
	// Soon is how long a call of the server may take before it is tried again.
	Soon = 5 * time.Second
	// Patience bounds the retries of a server call that a delivery depends on. The server then delivers the run again.
	Patience = 4 * Soon
	// Start is how long the servers may take to be usable.
	Start = 30 * time.Second
	// Always is longer than any outage: what must not be lost is tried until the worker ends.
	Always = 30 * 24 * time.Hour
)

// ErrPermanent means that another attempt will fail as well.
var ErrPermanent = errors.New("it cannot be read")

// Slow returns how much more time than a small message so many bytes may take: a second a MiB.
func Slow(size int) time.Duration { return time.Duration(size>>20) * time.Second }

// Do calls do until it succeeds, with pauses, at most for limit. size is how many bytes do sends or reads: a large
// object has more time. It returns the last error. An error that is ErrPermanent is not tried again.
func Do(ctx context.Context, limit time.Duration, size int, do func(context.Context) error) error {
	end := time.Now().Add(limit + Slow(size))
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		try, cancel := context.WithTimeout(ctx, min(Soon+Slow(size), time.Until(end)))
		err := do(try)
		cancel()
		if err == nil || errors.Is(err, ErrPermanent) || time.Until(end) < wait {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// Unavailable returns the refusal of a request that the queue's server does not answer.
func Unavailable(why error) *job.Refusal {
	return &job.Refusal{Code: "queue_unavailable", Layer: "queue",
		Message:   "the queue does not take or return runs at present: " + why.Error(),
		NextSteps: []string{"send the same request again in a few seconds, with the same Idempotency-Key if it has one"}}
}
