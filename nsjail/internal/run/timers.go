package run

import (
	"sync"
	"time"
)

// Timers are the timers of a running jail.
type Timers struct {
	mu      sync.Mutex
	stopped bool

	Wall, Idle, CPU, Disk, Netlink, Stop *time.Timer
}

// Start sets one of the timers, unless End was called: a callback may call Start at the same time.
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
	for _, timer := range []*time.Timer{t.Wall, t.Idle, t.CPU, t.Disk, t.Netlink, t.Stop} {
		if timer != nil {
			timer.Stop()
		}
	}
}
