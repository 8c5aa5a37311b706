package workspace

import (
	"context"
	"fmt"
	"sync"
	"time"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// Sandbox is a Volume of an agent in a Store. Its methods may be called concurrently.
type Sandbox struct {
	ID      string // "sb_" and 130 random bits
	Agent   string
	Created time.Time
	Size    int64         // its quota in bytes
	Inodes  int64         // its quota in inodes
	TTL     time.Duration // without being used
	Chain   []string      // other ids of its owner, such as a token's; the Store does not use them

	account string // see CreateOptions
	store   *Store
	volume  Volume
	tree    *Tree

	// guarded by store.mu
	used    time.Time // time of last use
	runs    map[*run]struct{}
	leaving bool          // deleted or expired
	idle    chan struct{} // closed when the sandbox is leaving and its last run is released
}

type run struct{ cancel context.CancelCauseFunc }

// of reports whether the sandbox belongs to the agent.
func (b *Sandbox) of(agent string) bool { return b.Agent == agent || agent == Any }

// Tree returns the Tree for the sandbox's files. After the sandbox has ended, its calls are refused.
func (b *Sandbox) Tree() *Tree { return b.tree }

// Volume returns the sandbox's Volume, for the mounts of a run. It stays open between Acquire and release.
func (b *Sandbox) Volume() Volume { return b.volume }

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
// than once. If the sandbox is deleted in the meantime, runCtx is cancelled with a *nsjail.Refusal as its cause, and
// the deletion waits for release.
func (b *Sandbox) Acquire(ctx context.Context) (runCtx context.Context, release func(), err error) {
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.get(b.Agent, b.ID); err != nil {
		return nil, nil, err
	}
	if s.o.MaxRuns > 0 && len(b.runs) >= s.o.MaxRuns {
		return nil, nil, refuse(CodeBusy, "In this sandbox are %d runs, as many as there may be at a time", len(b.runs))
	}
	r := &run{}
	runCtx, r.cancel = context.WithCancelCause(ctx)
	b.runs[r] = struct{}{}
	b.used = s.o.Now()
	var once sync.Once
	return runCtx, func() { once.Do(func() { b.release(r) }) }, nil
}

func (b *Sandbox) release(r *run) {
	r.cancel(nil)
	s := b.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(b.runs, r)
	b.used = s.o.Now()
	if b.leaving && len(b.runs) == 0 {
		close(b.idle)
	}
	s.nudge()
}

// touch records a use of the sandbox.
func (b *Sandbox) touch() error {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	now := b.store.o.Now()
	if b.leaving || b.expired(now) {
		return gone()
	}
	b.used = now
	return nil
}

// Running returns the number of runs in the sandbox.
func (b *Sandbox) Running() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return len(b.runs)
}

// Expires returns when the sandbox expires if it is not used again: its TTL after the last release, or the last call of
// its Tree other than Usage. If a run is in progress, the TTL is added to the current time.
func (b *Sandbox) Expires() time.Time {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if len(b.runs) > 0 {
		return b.store.o.Now().Add(b.TTL)
	}
	return b.used.Add(b.TTL)
}

// expired reports whether the TTL has passed. The caller holds store.mu.
func (b *Sandbox) expired(now time.Time) bool {
	return len(b.runs) == 0 && !now.Before(b.used.Add(b.TTL))
}

// check checks that a Volume has the directories of all areas.
func (t *Tree) check() error {
	for _, area := range areas {
		fd, err := t.open(place{area: area}, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
		if err != nil {
			return fmt.Errorf("sandbox: the volume has no directory %s: %w", area, err)
		}
		unix.Close(fd)
	}
	return nil
}
