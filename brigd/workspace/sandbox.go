package workspace

import (
	"context"
	"sync"
	"time"

	"brig/nsjail"
)

// Sandbox is a Volume of an agent in a Store. Its methods may be called concurrently.
type Sandbox struct {
	ID      string // "sb_", 130 random bits, and StoreOptions.Name
	Agent   string
	Created time.Time
	CreateOptions

	Tree    *Tree  // for its files. After the sandbox has ended, the calls are refused
	Tools   *Tools // of Tree
	Search  *Search
	Watches *Watches
	Volume  Volume // for the mounts of a run. It stays open between Acquire and release

	// Packing is held by the caller of Pack: a second one would thaw the runs and restore the file modes too early.
	Packing sync.Mutex

	store   *Store
	running sync.WaitGroup // the runs, for remove

	// guarded by store.mu
	used    time.Time   // time of last use
	changes int64       // see Changed
	timer   *time.Timer // calls expire when the TTL may have passed
	runs    map[context.Context]stay
	users   int // uses that are no run: see Use
}

// stay is a run's between Acquire and release.
type stay struct {
	cancel   context.CancelCauseFunc
	resident bool // it is no use
}

// of reports whether the sandbox belongs to the agent.
func (b *Sandbox) of(agent string) bool { return b.Agent == agent || agent == Any }

// Mounts returns the mounts of a Volume in a jail: /input read-only, /work and /output.
func Mounts(v Volume) []nsjail.Mount {
	var m []nsjail.Mount
	for _, a := range areas {
		m = append(m, nsjail.Mount{Type: nsjail.MountVolume, Source: v.ID() + "/" + a, Target: "/" + a,
			Writable: a != "input"})
	}
	return m
}

// Acquire must be called before a run. The sandbox does not expire until release is called, which may be called more
// than once. If the sandbox is deleted in the meantime, runCtx is cancelled with a *job.Refusal as its cause, and
// the deletion waits for release.
func (b *Sandbox) Acquire(ctx context.Context) (runCtx context.Context, release func(), err error) {
	return b.acquire(ctx, false)
}

// Reside is like Acquire for a jail that lives as long as the sandbox: it does not count as a use, so the sandbox can
// expire.
func (b *Sandbox) Reside(ctx context.Context) (runCtx context.Context, release func(), err error) {
	return b.acquire(ctx, true)
}

func (b *Sandbox) acquire(ctx context.Context, resident bool) (runCtx context.Context, release func(), err error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.get(b.Agent, b.ID); err != nil {
		return nil, nil, err
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	b.runs[runCtx] = stay{cancel, resident}
	b.running.Add(1)
	b.used = time.Now()
	b.changes++
	return runCtx, func() { b.release(runCtx) }, nil
}

func (b *Sandbox) release(run context.Context) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	s, ok := b.runs[run]
	if !ok {
		return // a second call
	}
	s.cancel(nil)
	delete(b.runs, run)
	b.running.Done()
	b.changes++
	if !s.resident {
		b.left()
	}
}

// left records the end of a use. The caller holds store.mu.
func (b *Sandbox) left() {
	b.used = time.Now()
	if b.store.live[b.ID] == b {
		b.timer.Reset(b.TTL)
	}
}

// Use records a use that is no run of its own, until release is called: the sandbox does not expire meanwhile.
func (b *Sandbox) Use() (release func(), err error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if _, err := b.store.get(b.Agent, b.ID); err != nil {
		return nil, err
	}
	b.users++
	b.used = time.Now()
	return sync.OnceFunc(func() {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		b.users--
		b.left()
	}), nil
}

// busy returns the number of uses that go on. The caller holds store.mu.
func (b *Sandbox) busy() int {
	n := b.users
	for _, s := range b.runs {
		if !s.resident {
			n++
		}
	}
	return n
}

// touch records a use of the sandbox.
func (b *Sandbox) touch() error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if b.store.live[b.ID] != b || b.expired() {
		return gone()
	}
	b.used = time.Now()
	return nil
}

// Running returns the number of runs in the sandbox, without a resident.
func (b *Sandbox) Running() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.busy()
}

// Expires returns when the sandbox expires if it is not used again: its TTL after the last release, or the last call of
// its Tree other than Usage. If a run is in progress, the TTL is added to the current time.
func (b *Sandbox) Expires() time.Time {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if b.busy() > 0 {
		return time.Now().Add(b.TTL)
	}
	return b.used.Add(b.TTL)
}

// expired reports whether the TTL has passed. The caller holds store.mu.
func (b *Sandbox) expired() bool { return b.busy() == 0 && time.Since(b.used) >= b.TTL }

// expire removes the sandbox if it has expired, or looks again when it may have. The last release starts the timer of a
// sandbox with runs.
func (b *Sandbox) expire() {
	s := b.store
	s.mu.Lock()
	over := s.live[b.ID] == b && b.expired()
	if over {
		s.leave(b)
	} else if s.live[b.ID] == b && b.busy() == 0 {
		b.timer.Reset(time.Until(b.used.Add(b.TTL)))
	}
	s.mu.Unlock()
	if over {
		_ = s.remove(b, Expired) // the callback Removed was given the error
	}
}
