package worker

import (
	"context"
	"sync"
)

// going are the runs that go on, so that they can be cancelled.
type going struct {
	mu sync.Mutex
	of map[*delivery]context.CancelCauseFunc
}

// add lets a run be cancelled until remove.
func (g *going) add(d *delivery, cancel context.CancelCauseFunc) (remove func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil {
		g.of = map[*delivery]context.CancelCauseFunc{}
	}
	g.of[d] = cancel
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.of, d)
	}
}

// cancel cancels a run, and reports whether it goes on here. More than one is cancelled if it was delivered again while
// it went on.
func (g *going) cancel(id string) (found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for d, cancel := range g.of {
		if d.run.ID == id {
			found = true
			cancel(context.Canceled)
		}
	}
	return found
}
