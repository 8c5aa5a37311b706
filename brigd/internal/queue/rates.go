package queue

import (
	"context"
	"sync"
	"time"
)

// sampleEvery is the interval at which the length of the queue is looked at.
const sampleEvery = 2 * time.Second

// rates are what the queue's leader has told of its length. Followers may tell old numbers (nats-server issue 5576).
type rates struct {
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

// doubt notes that what is in the queue now may have ended or be cancelled: this process was not there, or has heard of
// a cancellation.
func (q *Queue) doubt() {
	q.rates.mu.Lock()
	defer q.rates.mu.Unlock()
	q.rates.doubted = time.Now()
}

// doubtful reports whether a message may have been stored before the last call of doubt. Others need not be looked up.
func (q *Queue) doubtful(stored time.Time) bool {
	q.rates.mu.Lock()
	defer q.rates.mu.Unlock()
	const slack = 2 * time.Second // the clocks' difference is an estimate
	return q.rates.sampled.IsZero() || time.Since(stored)+q.rates.offset+slack > time.Since(q.rates.doubted)
}

// Watch samples the queue until ctx ends.
func (q *Queue) Watch(ctx context.Context) {
	for tick := time.NewTicker(sampleEvery); ; {
		q.sample(ctx)
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// sample looks at the queue once. What cannot be read is read the next time.
func (q *Queue) sample(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	begin := time.Now()
	info, err := q.runs.Info(ctx)
	if err != nil {
		return
	}
	r := &q.rates
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
func (q *Queue) Length() int {
	q.rates.mu.Lock()
	defer q.rates.mu.Unlock()
	return q.rates.length
}

// waited returns how long a message has been stored, by the server's clock.
func (q *Queue) waited(stored time.Time) time.Duration {
	q.rates.mu.Lock()
	defer q.rates.mu.Unlock()
	return max(0, time.Since(stored)+q.rates.offset)
}

// stored notes the number of a message that was stored.
func (r *rates) stored(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = max(r.newest, number)
}

// most returns how many runs there may be in the queue. What others have put there since the newest message that is
// known is not in it.
func (r *rates) most() (n int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.length + int(r.newest-r.last), !r.sampled.IsZero()
}

// older reports whether the last look at the queue is longer ago than that.
func (r *rates) older(d time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.sampled) > d
}

// The bounds of the estimate for a full queue.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// retry estimates when a full queue has room for a caller's next run: when a tenth of it has left.
func (r *rates) retry() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perSec <= 0 {
		return maxRetry
	}
	return max(minRetry, min(maxRetry, time.Duration(float64(r.length)/10/r.perSec*float64(time.Second))))
}
