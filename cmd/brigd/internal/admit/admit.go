// Package admit decides which run may start now: how many at once, for all callers and for each, how many may wait, how
// often a caller may ask, and whose turn it is.
//
// Each caller has a queue of its own. A place that becomes free goes to the caller, of those who wait and may have one
// more, who has the fewest running, and among equals in rounds: a thousand waiting runs of one caller delay another's
// single run by at most one end. When the queue is full, the newest waiting run of the longest queue makes room
// for a caller who has less waiting.
package admit

import (
	"container/list"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options bound a Gate. A zero field has the default beside it.
type Options struct {
	// Running is how many runs are under way at once (4), and PerCaller how many of them are one caller's (three quarters
	// of Running, at least 1), so that other callers have a place when one caller's runs do not end.
	Running, PerCaller int
	// Queue is how many wait, all callers' together (1024), and QueuePerCaller how many of them are one caller's (Queue).
	// A negative Queue means that no run waits.
	Queue, QueuePerCaller int
	// Rate is how many runs a second a caller may ask for, in the long run (no bound), and Burst how many at once (as many
	// as one second's, at least 1).
	Rate  float64
	Burst int
	// Callers is how many callers without a run are remembered, with their rate and their place in the round (4096).
	Callers int
	// Waited, if set, is told how long each admitted run has waited; Refused, the Code of each refusal. Both are called
	// without a lock held.
	Waited  func(time.Duration)
	Refused func(code string)
}

func (o *Options) defaults() {
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&o.Running, 4)
	set(&o.PerCaller, max(1, o.Running*3/4))
	if o.Queue < 0 {
		o.Queue, o.QueuePerCaller = 0, 0
	} else {
		set(&o.Queue, 1024)
		set(&o.QueuePerCaller, o.Queue)
	}
	set(&o.Burst, max(1, int(o.Rate)))
	set(&o.Callers, 4096)
	if o.Waited == nil {
		o.Waited = func(time.Duration) {}
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
}

// Gate is the one entrance to all runs. Its methods may be called at any time from anywhere.
type Gate struct {
	o Options

	mu       sync.Mutex
	callers  map[string]*caller
	idle     *list.List // of callers with nothing running or waiting, the longest idle one first
	waiting  []*caller  // those with a queue, in no order that counts
	depth    int
	running  int
	turn     uint64 // counts admissions
	draining bool
	empty    chan struct{} // closed once nothing runs or waits any more, while draining
	held     time.Duration // how long a run takes: a moving mean
}

// caller is what is known of one.
type caller struct {
	name    string
	running int
	queue   []*waiter // oldest first
	served  uint64    // the turn of its last admission, or of its coming
	limit   *rate.Limiter
	idle    *list.Element
}

// waiter is one run in a queue. Its answer comes once.
type waiter struct {
	since  time.Time
	answer chan error // nil: it may run
}

// New makes a Gate.
func New(o Options) *Gate {
	o.defaults()
	return &Gate{o: o, callers: map[string]*caller{}, idle: list.New(), empty: make(chan struct{}), held: time.Second}
}

// Ask takes one run from the rate of caller. It is called before Enter and before other work on a request, so that a
// refusal costs little. The error is a *Rejected.
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

// Enter waits for the turn of a run of caller. The run must call release when it has ended; a second call does nothing.
// The error is a *Rejected, or the context's cause.
func (g *Gate) Enter(ctx context.Context, caller string) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	w, pushed, no := g.join(caller, now)
	if pushed != nil {
		pushed.answer <- g.refuse(CodeQueueFull, g.retry())
	}
	if no != nil {
		g.o.Refused(no.Refusal.Code)
		return nil, no
	}
	select {
	case err = <-w.answer:
	case <-ctx.Done():
		if g.leave(caller, w) {
			return nil, context.Cause(ctx)
		}
		if err = <-w.answer; err == nil { // admitted at the same moment
			g.exit(caller, time.Now())
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
	return func() { once.Do(func() { g.exit(caller, start) }) }, nil
}

// Depth is how many runs wait.
func (g *Gate) Depth() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.depth
}

// Running is how many runs are under way.
func (g *Gate) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// Callers is how many callers are remembered.
func (g *Gate) Callers() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.callers)
}

// Drain refuses every run that comes from now on, and waits until what runs and what waits has ended. When the context
// ends first, what still waits is refused and the context's cause is the answer; what runs is left to whoever holds it.
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
	for _, c := range g.waiting {
		for _, w := range c.queue {
			w.answer <- g.refuse(CodeDraining, drainRetry)
		}
		g.depth -= len(c.queue)
		c.queue = nil
		g.settle(c)
	}
	g.waiting = nil
	if g.checkEmpty(); g.running == 0 {
		return nil
	}
	return context.Cause(ctx)
}

func (g *Gate) checkEmpty() {
	if g.draining && g.running == 0 && g.depth == 0 {
		select {
		case <-g.empty:
		default:
			close(g.empty)
		}
	}
}
