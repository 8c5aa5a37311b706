package run

import (
	"sync"
	"time"
)

// Timers are the timers of a running jail.
type Timers struct {
	mu      sync.Mutex
	stopped bool
	end     time.Time // of the wall clock
	held    time.Time // when that was stopped by Hold; zero if it goes

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

// StartWall sets the wall clock, which stands still if Hold was called.
func (t *Timers) StartWall(d time.Duration, f func()) {
	t.Start(&t.Wall, d, f)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end = time.Now().Add(d); !t.held.IsZero() && t.Wall != nil {
		t.Wall.Stop()
		t.end = t.held.Add(d)
	}
}

// Hold stops the wall clock until Release.
func (t *Timers) Hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || !t.held.IsZero() {
		return
	}
	if t.held = time.Now(); t.Wall != nil {
		t.Wall.Stop()
	}
}

// Release lets the wall clock go on, and returns for how long it has stood still.
func (t *Timers) Release() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || t.held.IsZero() {
		return 0
	}
	still := time.Since(t.held)
	t.held = time.Time{}
	if t.Wall != nil {
		t.end = t.end.Add(still)
		t.Wall.Reset(time.Until(t.end))
	}
	return still
}

// Held reports whether the wall clock stands still.
func (t *Timers) Held() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.held.IsZero()
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
