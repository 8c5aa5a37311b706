// Package admit schedules runs. It bounds how many run at once, in all and for each caller, how many wait and how often
// a caller may ask. It also decides which caller is next.
//
// Each caller has a queue. A free place goes to the waiting caller with the fewest runs under way that may have one
// more; among equals, they take turns. A thousand waiting runs of one caller therefore delay another's single run until
// one run ends, at most. When the queue is full, the newest waiting run of the longest queue makes room for a caller
// with fewer waiting runs.
package admit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options bound a Gate. The default of a zero field is in parentheses.
type Options struct {
	// Running is how many runs are under way at once (4). PerCaller is how many of them may belong to one caller (three
	// quarters of Running, at least 1), so that other callers get a place if one caller's runs do not end.
	Running, PerCaller int
	// Queue is how many runs may wait in all, and QueuePerCaller how many of one caller (Queue).
	Queue, QueuePerCaller int
	// Rate is how many runs a second a caller may ask for on average (unlimited), and Burst how many at once (those of
	// one second, at least 1).
	Rate  float64
	Burst int
	// Waited, if set, is called with the waiting time of each admitted run. Refused, if set, is called with the Code of
	// each refusal. No lock is held during these calls.
	Waited  func(time.Duration)
	Refused func(code string)
}

// maxIdle is how many callers without a run are remembered, with their rate and their turn.
const maxIdle = 4096

func (o *Options) defaults() {
	o.Running = cmp.Or(o.Running, 4)
	o.PerCaller = cmp.Or(o.PerCaller, max(1, o.Running*3/4))
	o.QueuePerCaller = min(cmp.Or(o.QueuePerCaller, o.Queue), o.Queue)
	o.Burst = cmp.Or(o.Burst, max(1, int(o.Rate)))
	if o.Waited == nil {
		o.Waited = func(time.Duration) {}
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
}

// Gate admits runs. Its methods are safe for concurrent use.
type Gate struct {
	o Options

	mu       sync.Mutex
	callers  map[string]*caller
	idle     []*caller // with nothing running or waiting, the one idle for longest first
	queue    []*waiter // of all callers, the oldest first
	running  int
	turn     uint64 // counts admissions
	draining bool
	empty    chan struct{} // closed while draining once nothing runs or waits
	held     time.Duration // duration of a run: a moving average
}

// caller is the state of one caller.
type caller struct {
	name             string
	running, waiting int
	served           uint64 // the turn of its last admission or, before one, of its first request
	limit            *rate.Limiter
}

// waiter is one run in the queue. It is answered once.
type waiter struct {
	caller *caller
	answer chan error // nil if it may run
}

// New returns a Gate.
func New(o Options) *Gate {
	o.defaults()
	return &Gate{o: o, callers: map[string]*caller{}, empty: make(chan struct{}), held: time.Second}
}

// Ask counts one run against the rate of caller. It is called before Enter and before other work on a request, so that
// a refusal is cheap. The error is a *Rejected.
func (g *Gate) Ask(caller string) error {
	g.mu.Lock()
	c := g.caller(caller)
	no := g.tooFast(c, time.Now())
	g.settle(c)
	g.mu.Unlock()
	if no != nil {
		g.o.Refused(no.Refusal.Code)
		return no
	}
	return nil
}

// Enter waits for the turn of a run of caller. The caller must call release when the run has ended; a second call does
// nothing. The error is a *Rejected, or the context's cause.
func (g *Gate) Enter(ctx context.Context, caller string) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	w := g.join(caller)
	select {
	case err = <-w.answer:
	case <-ctx.Done():
		if g.leave(w) {
			return nil, context.Cause(ctx)
		}
		if err = <-w.answer; err == nil { // admitted at the same moment
			g.exit(w.caller, time.Now())
			return nil, context.Cause(ctx)
		}
	}
	if no, ok := err.(*Rejected); ok {
		g.o.Refused(no.Refusal.Code)
		return nil, no
	}
	start := time.Now()
	g.o.Waited(start.Sub(now))
	var once sync.Once
	return func() { once.Do(func() { g.exit(w.caller, start) }) }, nil
}

// Depth returns how many runs wait.
func (g *Gate) Depth() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// Running returns how many runs are under way.
func (g *Gate) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// Drain refuses new runs and waits until all runs under way and in the queue have ended. If the context ends first,
// Drain refuses the waiting runs and returns the context's cause; runs under way continue.
func (g *Gate) Drain(ctx context.Context) error {
	g.mu.Lock()
	if !g.draining {
		g.draining = true
		g.checkEmpty()
	}
	g.mu.Unlock()
	select {
	case <-g.empty:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.queue) > 0 {
		w := g.take(0)
		w.answer <- g.refuse(codeDraining, drainRetry)
		g.settle(w.caller)
	}
	if g.checkEmpty(); g.running == 0 {
		return nil
	}
	return context.Cause(ctx)
}

func (g *Gate) checkEmpty() {
	if g.draining && g.running == 0 && len(g.queue) == 0 {
		select {
		case <-g.empty:
		default:
			close(g.empty)
		}
	}
}
