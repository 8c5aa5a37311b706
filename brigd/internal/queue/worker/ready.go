package worker

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// lookEvery is how often the machine is looked at: /proc/meminfo takes the kernel a part of what a run does.
	lookEvery = 250 * time.Millisecond
	// shortPause is how long a worker takes no runs after it could not run one.
	shortPause = 2 * time.Second
)

// ready is whether a worker may take runs: disk and memory suffice, and no run was refused for want of something.
type ready struct {
	look func() string // returns why no run is to be taken, or ""
	log  *slog.Logger

	looked time.Time // when the loop has called look, and
	seen   string    // what that has returned

	mu    sync.Mutex
	pause time.Time // no run is taken before
	short string
}

// ask reports whether runs may be taken. Only the loop calls it.
func (r *ready) ask() bool {
	if now := time.Now(); now.Sub(r.looked) > lookEvery {
		r.looked, r.seen = now, r.look()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	why := r.seen
	if why == "" && time.Now().Before(r.pause) {
		why = "this machine had no room for a jail"
	}
	if why != r.short {
		r.log.Warn("whether runs are taken has changed", "short_of", why)
		r.short = why
	}
	return why == ""
}

// rest lets the worker take no runs for a while.
func (r *ready) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = time.Now().Add(shortPause)
}

// why returns why no runs are taken at present, or "".
func (r *ready) why() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.short
}
