package admit

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// join puts a run into its caller's queue and starts the runs whose turn it is. pushed is another caller's run that was
// removed from the queue and must be answered.
func (g *Gate) join(name string, now time.Time) (w, pushed *waiter, no *Rejected) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining {
		return nil, nil, g.refuse(CodeDraining, drainRetry)
	}
	c := g.caller(name)
	defer g.settle(c)
	starts := len(c.queue) == 0 && c.running < g.o.PerCaller && g.running < g.o.Running
	if !starts {
		if len(c.queue) >= g.o.QueuePerCaller {
			return nil, nil, g.refuse(CodeQueueFull, g.retryLocked())
		}
		if g.depth >= g.o.Queue {
			if pushed = g.makeRoom(c); pushed == nil {
				return nil, nil, g.refuse(CodeQueueFull, g.retryLocked())
			}
		}
	}
	w = &waiter{since: now, answer: make(chan error, 1)}
	if len(c.queue) == 0 {
		g.waiting = append(g.waiting, c)
	}
	c.queue = append(c.queue, w)
	g.depth++
	g.dispatch()
	return w, pushed, nil
}

// caller returns the state of a caller, created if necessary, and marks it as active until settle is called.
func (g *Gate) caller(name string) *caller {
	c := g.callers[name]
	if c == nil {
		c = &caller{name: name, served: g.turn} // at the end of the round: new callers cannot starve others
		if g.o.Rate > 0 {
			c.limit = rate.NewLimiter(rate.Limit(g.o.Rate), g.o.Burst)
		}
		g.callers[name] = c
	}
	if c.idle != nil {
		g.idle.Remove(c.idle)
		c.idle = nil
	}
	return c
}

// settle marks a caller without runs as idle. If too many are remembered, it forgets those that have been idle for
// longest, since their rates have recovered most.
func (g *Gate) settle(c *caller) {
	if c.running > 0 || len(c.queue) > 0 || c.idle != nil || g.callers[c.name] != c {
		return
	}
	c.idle = g.idle.PushBack(c)
	for g.idle.Len() > g.o.Callers {
		if old, ok := g.idle.Remove(g.idle.Front()).(*caller); ok {
			old.idle = nil
			delete(g.callers, old.name)
		}
	}
}

// tooFast counts one run against the caller's rate, or returns a refusal with the time of the next.
func (g *Gate) tooFast(c *caller, now time.Time) *Rejected {
	if c.limit == nil || c.limit.AllowN(now, 1) {
		return nil
	}
	missing := 1 - c.limit.TokensAt(now)
	return g.refuse(CodeRateLimited, time.Duration(missing/g.o.Rate*float64(time.Second)))
}

// makeRoom removes the newest run from the longest queue, if that queue is then still at least as long as the
// newcomer's. A caller that fills the queue thus cannot exclude others.
func (g *Gate) makeRoom(newcomer *caller) *waiter {
	var longest *caller
	for _, c := range g.waiting {
		if longest == nil || len(c.queue) > len(longest.queue) {
			longest = c
		}
	}
	if longest == nil || len(longest.queue)-1 < len(newcomer.queue)+1 {
		return nil
	}
	last := len(longest.queue) - 1
	w := longest.queue[last]
	g.remove(longest, last)
	return w
}

// remove removes one run from a queue.
func (g *Gate) remove(c *caller, i int) {
	c.queue = slices.Delete(c.queue, i, i+1)
	g.depth--
	if len(c.queue) == 0 {
		c.queue = nil
		g.waiting = slices.DeleteFunc(g.waiting, func(o *caller) bool { return o == c })
	}
}

// dispatch starts runs while places are free.
func (g *Gate) dispatch() {
	for g.running < g.o.Running {
		c := g.next()
		if c == nil {
			return
		}
		w := c.queue[0]
		g.remove(c, 0)
		g.turn++
		c.served = g.turn
		c.running++
		g.running++
		w.answer <- nil
	}
}

// next returns the caller whose turn it is: see the package comment.
func (g *Gate) next() (best *caller) {
	for _, c := range g.waiting {
		if c.running >= g.o.PerCaller {
			continue
		}
		if best == nil || c.running < best.running || c.running == best.running && c.before(best) {
			best = c
		}
	}
	return best
}

// before reports whether c was served before o. If both joined at the same turn, the one that has waited longer is
// first.
func (c *caller) before(o *caller) bool {
	if c.served != o.served {
		return c.served < o.served
	}
	return c.queue[0].since.Before(o.queue[0].since)
}

// leave removes a run from the queue. It returns false if the run was not in it.
func (g *Gate) leave(name string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.callers[name]
	if c == nil {
		return false
	}
	i := slices.Index(c.queue, w)
	if i < 0 {
		return false
	}
	g.remove(c, i)
	g.settle(c)
	g.checkEmpty()
	return true
}

// exit frees a place.
func (g *Gate) exit(name string, start time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.callers[name]
	c.running--
	g.running--
	g.held += (time.Since(start) - g.held) / 8
	g.dispatch()
	g.settle(c)
	g.checkEmpty()
}
