package workspace

import (
	"context"
	"fmt"
	"sync"
	"time"

	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// Sandbox is a Volume of an agent's, in a Store. Its methods may be called concurrently.
type Sandbox struct {
	ID      string // "sb_" and 130 random bits
	Agent   string
	Created time.Time
	Size    int64         // its quota in bytes
	Inodes  int64         // and in files
	TTL     time.Duration // without being used
	Chain   []string      // what else its owner is known by, such as a token's ids; the Store only keeps it

	account string // see CreateOptions
	store   *Store
	volume  Volume
	tree    *Tree

	// by store.mu
	used    time.Time // last
	runs    map[*run]struct{}
	leaving bool          // deleted or expired
	idle    chan struct{} // closed when it is leaving and its last run was released
}

type run struct{ cancel context.CancelCauseFunc }

// of reports whether it is the agent's.
func (b *Sandbox) of(agent string) bool { return b.Agent == agent || agent == Any }

// Tree reads and writes its files. After the sandbox has ended it refuses.
func (b *Sandbox) Tree() *Tree { return b.tree }

// Volume is what its files are in, for the mounts of a run: between Acquire and release it stays.
func (b *Sandbox) Volume() Volume { return b.volume }

// Mounts are a sandbox's Volume as a jail has it: /input read-only, /work and /output.
func Mounts(v Volume) []nsjail.Mount {
	var m []nsjail.Mount
	for _, a := range areas {
		m = append(m, nsjail.Mount{Type: nsjail.MountVolume, Source: v.ID() + "/" + a, Target: "/" + a,
			Writable: a != "input"})
	}
	return m
}

// Acquire is called before a run. Until release, which may be called more than once, the sandbox does not expire; if it
// is deleted meanwhile, the context ends with a *nsjail.Refusal as its cause, and the deletion waits for release.
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

// touch notes that it is being used.
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

// Running is how many runs are in it.
func (b *Sandbox) Running() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return len(b.runs)
}

// Expires is when it ends if it is not used again: its TTL after the last release or call of its Tree other than Usage.
// With a run in it, it is as if that were released now.
func (b *Sandbox) Expires() time.Time {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if len(b.runs) > 0 {
		return b.store.o.Now().Add(b.TTL)
	}
	return b.used.Add(b.TTL)
}

// expired is asked with the lock held.
func (b *Sandbox) expired(now time.Time) bool {
	return len(b.runs) == 0 && !now.Before(b.used.Add(b.TTL))
}

// check makes sure that a Volume is what it should be.
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
