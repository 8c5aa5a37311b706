// Package idle decides when to freeze a box that is not in use.
package idle

import (
	"errors"
	"sync"
	"time"
)

// Clock freezes a box that has not been used for some time. Whoever uses the box calls Enter first, which thaws it.
type Clock struct {
	After time.Duration // 0 is never
	// Works reports whether the box has used the processor since the last call; nil is never.
	Works  func() bool
	Freeze func(on bool) error

	mu    sync.Mutex
	users int
	last  time.Time
	timer *time.Timer
	still bool // it is frozen
	over  bool // it has ended
}

// Enter begins a use, and thaws the box.
func (i *Clock) Enter() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.still {
		if err := i.Freeze(false); err != nil {
			return err
		}
		i.still = false
	}
	i.users++
	return nil
}

// Leave ends a use.
func (i *Clock) Leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.users--
	i.touched()
}

// Touch records that the box is not quiet.
func (i *Clock) Touch() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.touched()
}

// touched starts the clock, which then runs until the box has been quiet for long enough. The caller holds the lock.
func (i *Clock) touched() {
	i.last = time.Now()
	if i.timer == nil && i.After > 0 && !i.over {
		i.worked() // from now on
		i.timer = time.AfterFunc(i.After, i.look)
	}
}

// look freezes the box if it is quiet, or looks again when it may be.
func (i *Clock) look() {
	i.mu.Lock()
	defer i.mu.Unlock()
	quiet := time.Since(i.last)
	switch {
	case i.over || i.still || i.users > 0: // the last Leave starts the clock again
		i.timer = nil
	case quiet < i.After:
		i.worked()
		i.timer.Reset(i.After - quiet)
	case i.worked():
		i.timer.Reset(i.After)
	default:
		i.timer = nil
		i.still = i.Freeze(true) == nil // one that cannot be frozen goes on
	}
}

func (i *Clock) worked() bool { return i.Works != nil && i.Works() }

// Stop freezes the box now, unless something uses it.
func (i *Clock) Stop() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.users > 0 {
		return ErrInUse
	}
	if i.still {
		return nil
	}
	err := i.Freeze(true)
	i.still = err == nil
	return err
}

// ErrInUse is the error of Stop while something uses the box.
var ErrInUse = errors.New("a call uses it")

// Frozen reports whether the box stands still.
func (i *Clock) Frozen() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.still
}

// End stops the clock for good.
func (i *Clock) End() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over, i.still = true, false
	if i.timer != nil {
		i.timer.Stop()
	}
}
