// Package gauge estimates how long the queue is, how fast it moves and how far the server's clock is off, from looks at
// the stream of runs.
package gauge

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue/retry"
)

// sampleEvery is the interval at which the length of the queue is looked at.
const sampleEvery = 2 * time.Second

// Stream is what is looked at: the stream of runs.
type Stream interface {
	Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error)
}

// Gauge is what the queue's leader has told of its length. Followers may tell old numbers (nats-server issue 5576).
// The zero Gauge knows nothing yet.
type Gauge struct {
	mu      sync.Mutex
	length  int
	leader  string        // of the runs' stream, in a cluster
	last    uint64        // the number of the newest message then
	newest  uint64        // the number of the newest message that is known
	left    uint64        // runs that have left the queue since it was made
	perSec  float64       // runs that leave it each second: a moving average
	offset  time.Duration // of the server's clock from ours
	sampled time.Time
	doubted time.Time
}

// Doubt notes that what is in the queue now may have ended or be cancelled: this process was not there, or has heard of
// a cancellation.
func (r *Gauge) Doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubted = time.Now()
}

// Doubtful reports whether a message may have been stored before the last call of Doubt. Others need not be looked up.
func (r *Gauge) Doubtful(stored time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	const slack = 2 * time.Second // the clocks' difference is an estimate
	return r.sampled.IsZero() || time.Since(stored)+r.offset+slack > time.Since(r.doubted)
}

// Watch samples the queue until ctx ends.
func (r *Gauge) Watch(ctx context.Context, runs Stream) {
	for tick := time.NewTicker(sampleEvery); ; {
		r.Sample(ctx, runs)
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// Sample looks at the queue once. What cannot be read is read the next time.
func (r *Gauge) Sample(ctx context.Context, runs Stream) {
	ctx, cancel := context.WithTimeout(ctx, retry.Soon)
	defer cancel()
	begin := time.Now()
	info, err := runs.Info(ctx)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	left := info.State.LastSeq - info.State.Msgs
	if passed := now.Sub(r.sampled).Seconds(); !r.sampled.IsZero() && left >= r.left {
		r.perSec += (float64(left-r.left)/passed - r.perSec) / 3
	}
	r.length, r.left, r.sampled = int(info.State.Msgs), left, now
	r.last, r.newest = info.State.LastSeq, max(r.newest, info.State.LastSeq)
	if info.Cluster != nil {
		r.leader = info.Cluster.Leader
	}
	if !info.TimeStamp.IsZero() {
		r.offset = info.TimeStamp.Sub(begin.Add(now.Sub(begin) / 2))
	}
}

// Length returns how many runs were in the queue when it was looked at last.
func (r *Gauge) Length() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length
}

// Rate returns how many runs have left the queue each second lately, and in a cluster the leader of their stream.
func (r *Gauge) Rate() (perSec float64, leader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perSec, r.leader
}

// Waited returns how long a message has been stored, by the server's clock.
func (r *Gauge) Waited(stored time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, time.Since(stored)+r.offset)
}

// Stored notes the number of a message that was stored.
func (r *Gauge) Stored(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, number)
}

// Most returns how many runs there may be in the queue. What others have put there since the newest message that is
// known is not in it.
func (r *Gauge) Most() (n int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length + int(r.newest-r.last), !r.sampled.IsZero()
}

// Older reports whether the last look at the queue is longer ago than that.
func (r *Gauge) Older(d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.sampled) > d
}

// The bounds of the estimate for a full queue.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// Retry estimates when a full queue has room for a caller's next run: when a tenth of it has left.
func (r *Gauge) Retry() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perSec <= 0 {
		return maxRetry
	}
	return max(minRetry, min(maxRetry, time.Duration(float64(r.length)/10/r.perSec*float64(time.Second))))
}
