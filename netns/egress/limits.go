package egress

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"brig/netns/egress/policy"
)

const maxKnown = 4096 // resolved and remembered

// limits are the bounds that all connections share. 0 in the policy means no bound.
type limits struct {
	max   int64
	share int64 // of the connections that the process may have open; 0: no bound
	open  atomic.Int64

	bytes     *quota // of all connections; nil: no bound
	perConn   int64
	rate      *bucket // connections; nil: no bound
	bandwidth *bucket // bytes; nil: no bound

	names *bucket // new names that a wildcard allows
	mu    sync.Mutex
	known map[string]bool // at most maxKnown
}

func newLimits(p *policy.Policy) *limits {
	names := float64(cmp.Or(p.NamesPerSecond, policy.DefaultNamesPerSecond))
	return &limits{max: int64(cmp.Or(p.MaxConnections, policy.DefaultMaxConnections)), share: share.Load(),
		bytes: newQuota(int64(p.MaxBytes)), perConn: int64(p.MaxConnectionBytes),
		rate:      newBucket(float64(p.ConnectionsPerSecond), float64(p.ConnectionsPerSecond)),
		bandwidth: newBucket(float64(p.Bandwidth), float64(p.Bandwidth)/10), // a burst of a tenth of a second
		names:     newBucket(names, 5*names), known: map[string]bool{}}
}

// enter counts a connection, or returns which bound refuses it. After ReasonNone, leave must be called.
func (l *limits) enter() (r policy.Reason) {
	switch open := l.open.Add(1); {
	case open > l.max:
		r = policy.ReasonMaxConnections
	case l.share > 0 && open > l.share:
		r = policy.ReasonResources
	case !l.rate.try(1, time.Now()):
		r = policy.ReasonRate
	}
	if r != policy.ReasonNone {
		l.leave()
	}
	return r
}

// name counts an allowed name, or returns which bound refuses it. Only names that match a wildcard count, since the
// payload chooses them.
func (l *limits) name(name string, d *policy.Decision) policy.Reason {
	if d.Rule == nil || !d.Rule.Wildcard() {
		return policy.ReasonNone
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[name] {
		return policy.ReasonNone
	}
	if !l.names.try(1, time.Now()) {
		return policy.ReasonRate
	}
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[name] = true
	return policy.ReasonNone
}

func (l *limits) leave() { l.open.Add(-1) }

// quota is a consumable number of bytes. A nil quota is unlimited.
type quota struct{ left atomic.Int64 }

// newQuota returns a quota of n bytes; 0: nil.
func newQuota(n int64) *quota {
	if n <= 0 {
		return nil
	}
	q := &quota{}
	q.left.Store(n)
	return q
}

// take takes up to n bytes and returns how many.
func (q *quota) take(n int64) int64 {
	if q == nil {
		return n
	}
	for {
		left := q.left.Load()
		k := min(n, left)
		if k <= 0 {
			return 0
		}
		if q.left.CompareAndSwap(left, left-k) {
			return k
		}
	}
}

// give puts back bytes that were taken and not used.
func (q *quota) give(n int64) {
	if q != nil && n > 0 {
		q.left.Add(n)
	}
}

func (q *quota) spent() bool { return q != nil && q.left.Load() <= 0 }

// bucket is a token bucket. A nil bucket has no bound.
type bucket struct {
	mu     sync.Mutex
	rate   float64 // tokens per second
	burst  float64
	tokens float64
	at     time.Time
}

// newBucket returns a bucket of rate tokens per second; 0: nil.
func newBucket(rate, burst float64) *bucket {
	if rate <= 0 {
		return nil
	}
	burst = max(burst, 1)
	return &bucket{rate: rate, burst: burst, tokens: burst}
}

func (b *bucket) refill(now time.Time) {
	if !b.at.IsZero() && now.After(b.at) {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
}

// try takes n tokens if the bucket has them or is full, and reports whether it did.
func (b *bucket) try(n float64, now time.Time) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refill(now); b.tokens < min(n, b.burst) {
		return false
	}
	b.tokens -= n
	return true
}

// owe takes n tokens even if the bucket lacks them, and returns the time until it is at 0 again.
func (b *bucket) owe(n float64, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.tokens -= n; b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// chunk returns the size of one read in bytes, so that one read does not use up a second.
func (b *bucket) chunk() int {
	if b == nil {
		return copyBuffer
	}
	return int(min(max(b.rate/16, 256), copyBuffer))
}
