package warm

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pool keeps values ready that take long to make, and makes more in the background.
type Pool[T any] struct {
	Make func() (T, error)
	Drop func(T) error // releases a value that was not taken
	// Pause is how long the background work waits for the run that it follows; 0 is refillPause.
	Pause time.Duration

	Mu      sync.Mutex
	Want    int // the number of values to keep ready
	Ready   []T // the oldest first
	Filling bool
	closed  bool
	fillers sync.WaitGroup
}

// refillPause is how long the background work waits for the start that it follows, so that both do not compete for the
// processors. A start takes less.
const refillPause = 2 * time.Millisecond

// Take returns the oldest value, or the zero value if none is ready.
func (p *Pool[T]) Take() (v T) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if len(p.Ready) > 0 {
		v, p.Ready = p.Ready[0], p.Ready[1:]
	}
	p.refill(len(p.Ready) == 0)
	return v
}

// put adds a value, unless most are ready or the pool is closed.
func (p *Pool[T]) put(v T, most int) bool {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	ok := !p.closed && len(p.Ready) < most
	if ok {
		p.Ready = append(p.Ready, v)
	}
	return ok
}

// Prime makes one value now, whose error tells whether values can be made. It is dropped if most are ready.
func (p *Pool[T]) Prime(most int) error {
	v, err := p.Make()
	if err != nil || p.put(v, most) {
		return err
	}
	return p.Drop(v)
}

// Resize sets the number of values to keep ready, and returns the surplus. Missing ones are made at once if now is set
// and none is ready.
func (p *Pool[T]) Resize(n int, now bool) (surplus []T) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Want = n
	if len(p.Ready) > n {
		surplus = slices.Clone(p.Ready[n:])
		p.Ready = p.Ready[:n]
	}
	p.refill(now && len(p.Ready) == 0)
	return surplus
}

// refill starts to make values, at once or after the current start, if too few are ready: in a pool of 8 or more, half
// of them. The caller holds the lock.
func (p *Pool[T]) refill(now bool) {
	ready := len(p.Ready)
	if p.Filling || p.closed || ready >= p.Want || p.Want >= 8 && ready > p.Want/2 {
		return
	}
	p.Filling = true
	p.fillers.Add(1)
	if now {
		go p.fill()
	} else {
		time.AfterFunc(cmp.Or(p.Pause, refillPause), p.fill)
	}
}

// fill makes values until enough are ready. It stops at an error until the next Take.
func (p *Pool[T]) fill() {
	defer p.fillers.Done()
	for {
		v, err := p.Make()
		p.Mu.Lock()
		unwanted := p.closed || len(p.Ready) >= p.Want
		if err == nil && !unwanted {
			p.Ready = append(p.Ready, v)
		}
		p.Filling = err == nil && !p.closed && len(p.Ready) < p.Want
		again := p.Filling
		p.Mu.Unlock()
		if err == nil && unwanted {
			_ = p.Drop(v) // no caller waits for the error
		}
		if !again {
			return
		}
	}
}

// Remove drops the values for which f returns true.
func (p *Pool[T]) Remove(f func(T) bool) error {
	p.Mu.Lock()
	var old []T
	p.Ready = slices.DeleteFunc(p.Ready, func(v T) bool {
		if f(v) {
			old = append(old, v)
			return true
		}
		return false
	})
	p.Mu.Unlock()
	return p.DropAll(old)
}

// DropAll drops a list of values.
func (p *Pool[T]) DropAll(list []T) error {
	var errs []error
	for _, v := range list {
		errs = append(errs, p.Drop(v))
	}
	return errors.Join(errs...)
}

// Close drops what is ready and waits for the background work.
func (p *Pool[T]) Close() error {
	p.Mu.Lock()
	p.closed = true
	old := p.Ready
	p.Ready = nil
	p.Mu.Unlock()
	p.fillers.Wait()
	return p.DropAll(old)
}
