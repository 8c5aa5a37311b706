package run

import (
	"sync"
	"time"
)

// Timers are the clocks of a running jail.
type Timers struct {
	mu      sync.Mutex
	stopped bool

	Wall, Idle, CPU, Stop *time.Timer
}

// Start sets one of the timers, but not once the jail has ended: a callback may be on its way while End is called.
func (t *Timers) Start(timer **time.Timer, d time.Duration, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		*timer = time.AfterFunc(d, f)
	}
}

// End stops all timers.
func (t *Timers) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, timer := range []*time.Timer{t.Wall, t.Idle, t.CPU, t.Stop} {
		if timer != nil {
			timer.Stop()
		}
	}
}
