package nsjail

import (
	"sync"
	"time"
)

// timers are the clocks of a running jail.
type timers struct {
	mu      sync.Mutex
	stopped bool

	wall, idle, cpu, stop *time.Timer
}

// start sets one of the timers, but not once the jail has ended: a callback may be on its way while end is called.
func (t *timers) start(timer **time.Timer, d time.Duration, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		*timer = time.AfterFunc(d, f)
	}
}

func (t *timers) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, timer := range []*time.Timer{t.wall, t.idle, t.cpu, t.stop} {
		if timer != nil {
			timer.Stop()
		}
	}
}
