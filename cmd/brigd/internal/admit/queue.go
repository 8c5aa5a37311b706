package admit

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// join puts a run into its caller's queue, and starts whoever's turn it is. pushed is somebody else's run that made
// room for it and has to be told.
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

// caller finds or remembers one, and marks it as active: settle ends that.
func (g *Gate) caller(name string) *caller {
	c := g.callers[name]
	if c == nil {
		c = &caller{name: name, served: g.turn} // it joins the round at its end: ever new ones starve nobody
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

// settle remembers a caller without runs as idle, and forgets those that have been idle longest, once they are too
// many: their rate is the one that has recovered most.
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

// tooFast takes one from the caller's rate, or returns when there will be one.
func (g *Gate) tooFast(c *caller, now time.Time) *Rejected {
	if c.limit == nil || c.limit.AllowN(now, 1) {
		return nil
	}
	missing := 1 - c.limit.TokensAt(now)
	return g.refuse(CodeRateLimited, time.Duration(missing/g.o.Rate*float64(time.Second)))
}

// makeRoom takes the newest run out of the longest queue, if that stays at least as long as the newcomer's will be: so
// a caller who fills the queue does not keep others out of it.
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

// remove takes one run out of a queue.
func (g *Gate) remove(c *caller, i int) {
	c.queue = slices.Delete(c.queue, i, i+1)
	g.depth--
	if len(c.queue) == 0 {
		c.queue = nil
		g.waiting = slices.DeleteFunc(g.waiting, func(o *caller) bool { return o == c })
	}
}

// dispatch starts runs while there are places.
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

// next is whose turn it is: see the package's comment.
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

// before is true of the caller served longest ago; of two that joined at the same turn, of the one that waits longer.
func (c *caller) before(o *caller) bool {
	if c.served != o.served {
		return c.served < o.served
	}
	return c.queue[0].since.Before(o.queue[0].since)
}

// leave takes a run out of the queue; false if it is in none any more.
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

// exit returns a place back.
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
