package admit

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// join puts a run into the queue and starts the runs whose turn it is. A run that may not wait is answered at once.
func (g *Gate) join(name string) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := &waiter{answer: make(chan error, 1)}
	if g.draining {
		w.answer <- g.refuse(codeDraining, drainRetry)
		return w
	}
	c := g.caller(name)
	defer g.settle(c)
	w.caller = c
	pushed := w // the run for which there is no room
	switch starts := c.waiting == 0 && c.running < g.o.PerCaller && g.running < g.o.Running; {
	case starts, c.waiting < g.o.QueuePerCaller && len(g.queue) < g.o.Queue:
		pushed = nil
	case c.waiting < g.o.QueuePerCaller:
		pushed = cmp.Or(g.makeRoom(c), w)
	}
	if pushed != w {
		g.queue = append(g.queue, w)
		c.waiting++
		g.dispatch()
	}
	if pushed != nil {
		pushed.answer <- g.refuse(codeQueueFull, g.retry())
	}
	return w
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
	if i := slices.Index(g.idle, c); i >= 0 {
		g.idle = slices.Delete(g.idle, i, i+1)
	}
	return c
}

// settle marks a caller without runs as idle. If too many are remembered, it forgets those that have been idle for
// longest, since their rates have recovered most.
func (g *Gate) settle(c *caller) {
	if c.running > 0 || c.waiting > 0 {
		return
	}
	g.idle = append(g.idle, c)
	for len(g.idle) > maxIdle {
		delete(g.callers, g.idle[0].name)
		g.idle = slices.Delete(g.idle, 0, 1)
	}
}

// tooFast counts one run against the caller's rate, or returns a refusal with the time of the next.
func (g *Gate) tooFast(c *caller, now time.Time) *Rejected {
	if c.limit == nil || c.limit.AllowN(now, 1) {
		return nil
	}
	missing := 1 - c.limit.TokensAt(now)
	return g.refuse(codeRateLimited, time.Duration(missing/g.o.Rate*float64(time.Second)))
}

// makeRoom removes the newest run of the caller with the most, if that caller then still has at least as many as the
// newcomer. A caller that fills the queue thus cannot exclude others.
func (g *Gate) makeRoom(newcomer *caller) *waiter {
	last := -1
	for i, w := range g.queue {
		if last < 0 || w.caller.waiting >= g.queue[last].caller.waiting {
			last = i
		}
	}
	if last < 0 || g.queue[last].caller.waiting-1 < newcomer.waiting+1 {
		return nil
	}
	return g.take(last)
}

// take removes a run from the queue.
func (g *Gate) take(i int) *waiter {
	w := g.queue[i]
	g.queue = slices.Delete(g.queue, i, i+1)
	w.caller.waiting--
	return w
}

// dispatch starts runs while places are free.
func (g *Gate) dispatch() {
	for g.running < g.o.Running {
		i := g.next()
		if i < 0 {
			return
		}
		w := g.take(i)
		g.turn++
		w.caller.served = g.turn
		w.caller.running++
		g.running++
		w.answer <- nil
	}
}

// next returns the index of the run whose turn it is, or -1: see the package comment. Of callers who were served at the
// same turn, the one that has waited longest is first.
func (g *Gate) next() int {
	best := -1
	for i, w := range g.queue {
		if w.caller.running >= g.o.PerCaller {
			continue
		}
		if best < 0 || w.caller.before(g.queue[best].caller) {
			best = i
		}
	}
	return best
}

// before reports whether c has fewer runs under way than o or, with as many, was served before it.
func (c *caller) before(o *caller) bool {
	return cmp.Or(cmp.Compare(c.running, o.running), cmp.Compare(c.served, o.served)) < 0
}

// leave removes a run from the queue. It returns false if the run was not in it.
func (g *Gate) leave(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, w)
	if i < 0 {
		return false
	}
	g.settle(g.take(i).caller)
	g.checkEmpty()
	return true
}

// exit frees a place.
func (g *Gate) exit(c *caller, start time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.running--
	g.running--
	g.held += (time.Since(start) - g.held) / 8
	g.dispatch()
	g.settle(c)
	g.checkEmpty()
}
