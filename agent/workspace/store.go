package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// StoreOptions configures a Store. Zero values mean the defaults in parentheses.
type StoreOptions struct {
	// Make creates a Volume with a size in bytes and a number of inodes, with the directories input, work and output.
	// It may be called concurrently. Without it, Create fails.
	Make func(size, inodes int64) (Volume, error)
	// Max is the maximum number of sandboxes (100), and MaxPerAgent that of one agent (Max). MaxBytes limits the sum of
	// all quotas (4 GiB), including 1 KiB of kernel memory for each inode, and MaxBytesPerAgent that of one agent
	// (MaxBytes).
	Max, MaxPerAgent           int
	MaxBytes, MaxBytesPerAgent int64
	// MaxRuns is the maximum number of concurrent runs in one sandbox; 0 means no limit.
	MaxRuns int
	// DefaultSize (256 MiB) and MaxSize (MaxBytes) limit one sandbox in bytes; DefaultInodes (16,384) and MaxInodes
	// (2^20) limit it in inodes.
	DefaultSize, MaxSize, DefaultInodes, MaxInodes int64
	// DefaultTTL (1 hour) and MaxTTL (24 hours) are the time after which an unused sandbox expires.
	DefaultTTL, MaxTTL time.Duration
	// Now is the clock (time.Now). At returns a channel that signals when that clock reaches a time (a timer).
	Now func() time.Time
	At  func(time.Time) <-chan time.Time
	// Removed, if set, is called when a sandbox has ended, with the cause (Deleted, Expired or Closed) and the error of
	// closing its Volume. It may be called concurrently, and must not wait for Store.Close.
	Removed func(s *Sandbox, by string, err error)
}

// Causes of a sandbox's end: see StoreOptions.Removed.
const (
	Deleted = "deleted" // Store.Delete
	Expired = "expired" // its TTL
	Closed  = "closed"  // Store.Close
)

const minInodes = 16 // for the root, the areas and some files

func (o *StoreOptions) fill() {
	or(&o.Max, 100)
	or(&o.MaxPerAgent, o.Max)
	or(&o.MaxBytes, 4<<30)
	or(&o.MaxBytesPerAgent, o.MaxBytes)
	or(&o.MaxSize, o.MaxBytesPerAgent)
	or(&o.DefaultSize, min(256<<20, o.MaxSize))
	or(&o.MaxInodes, 1<<20)
	or(&o.DefaultInodes, min(16<<10, o.MaxInodes))
	or(&o.MaxTTL, 24*time.Hour)
	or(&o.DefaultTTL, min(time.Hour, o.MaxTTL))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.At == nil {
		o.At = func(t time.Time) <-chan time.Time { return time.After(time.Until(t)) }
	}
}

func or[T ~int | ~int64](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}

// Store holds all sandboxes. Its methods may be called concurrently.
type Store struct {
	o    StoreOptions
	wake chan struct{} // wakes the reaper
	done chan struct{} // closed to stop the reaper
	end  chan struct{} // closed when the reaper has stopped

	mu      sync.Mutex // also guards fields of Sandbox
	closed  bool
	live    map[string]*Sandbox
	agents  map[string]account
	account                // of all sandboxes
	pending sync.WaitGroup // creations and removals in progress
}

// NewStore returns a Store. It expires sandboxes until Close.
func NewStore(o StoreOptions) *Store {
	o.fill()
	s := &Store{o: o, wake: make(chan struct{}, 1), done: make(chan struct{}), end: make(chan struct{}),
		live: map[string]*Sandbox{}, agents: map[string]account{}}
	go s.reap()
	return s
}

// CreateOptions configures one sandbox. Zero values mean the Store's defaults.
type CreateOptions struct {
	Size   int64 // bytes
	Inodes int64 // files
	TTL    time.Duration
	Chain  []string // see Sandbox.Chain
	// Account is the name to which MaxPerAgent and MaxBytesPerAgent apply. If it is "", they apply to the agent.
	Account string
}

// Create creates a sandbox for an agent.
func (s *Store) Create(agent string, o CreateOptions) (*Sandbox, error) {
	if err := CheckAgent(agent); err != nil {
		return nil, err
	}
	if s.o.Make == nil {
		return nil, errors.New("sandbox: StoreOptions.Make is missing: give Runner.NewVolume")
	}
	if err := s.bound(&o); err != nil {
		return nil, err
	}
	if o.Account == "" {
		o.Account = agent
	}
	if err := s.reserve(o.Account, charge(o.Size, o.Inodes)); err != nil {
		return nil, err
	}
	defer s.pending.Done()
	v, err := s.o.Make(o.Size, o.Inodes)
	if err != nil {
		s.free(o.Account, charge(o.Size, o.Inodes))
		return nil, fmt.Errorf("sandbox: make a volume of %d bytes and %d inodes: %w", o.Size, o.Inodes, err)
	}
	b := &Sandbox{ID: "sb_" + strings.ToLower(rand.Text()), Agent: agent, Size: o.Size, Inodes: o.Inodes, TTL: o.TTL,
		Chain:   slices.Clone(o.Chain),
		account: o.Account, store: s, volume: v, tree: NewTree(v), runs: map[*run]struct{}{}, idle: make(chan struct{})}
	b.tree.used = b.touch
	if err = b.tree.check(); err == nil {
		err = s.add(b)
	}
	if err != nil {
		err = errors.Join(err, v.Close())
		s.free(o.Account, charge(o.Size, o.Inodes))
		return nil, err
	}
	return b, nil
}

// bound sets the defaults, and refuses values that are out of bounds.
func (s *Store) bound(o *CreateOptions) error {
	if o.Size == 0 {
		o.Size = s.o.DefaultSize
	}
	if o.Inodes == 0 {
		o.Inodes = s.o.DefaultInodes
	}
	if o.TTL == 0 {
		o.TTL = s.o.DefaultTTL
	}
	switch {
	case o.Size < 0 || o.Size > s.o.MaxSize:
		return refuse(CodeBadOption, "A sandbox of %d bytes is out of bounds: 1 to %d", o.Size, s.o.MaxSize)
	case o.Inodes < minInodes || o.Inodes > s.o.MaxInodes:
		return refuse(CodeBadOption, "A sandbox of %d inodes is out of bounds: %d to %d", o.Inodes, minInodes, s.o.MaxInodes)
	case o.TTL < 0 || o.TTL > s.o.MaxTTL:
		return refuse(CodeBadOption, "A time to live of %v is out of bounds: at most %v", o.TTL, s.o.MaxTTL)
	}
	return nil
}

func (s *Store) add(b *Sandbox) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return refuse(CodeBusy, "No sandbox is made any more: the program is ending")
	}
	b.Created = s.o.Now()
	b.used = b.Created
	s.live[b.ID] = b
	s.nudge()
	return nil
}

// Get returns a sandbox of an agent, or of any agent if agent is Any. It does not count as a use: see Sandbox.Expires.
func (s *Store) Get(agent, id string) (*Sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.get(agent, id)
}

// get returns the same error for an id that never existed, one that has ended, and one of another agent.
func (s *Store) get(agent, id string) (*Sandbox, error) {
	b := s.live[id]
	if b == nil || !b.of(agent) || b.expired(s.o.Now()) {
		return nil, refuse(CodeNotFound, "There is no sandbox %s: it was never made, or deleted, or has expired", show(id))
	}
	return b, nil
}

// List returns the sandboxes of an agent, or of all agents if agent is Any, the oldest first.
func (s *Store) List(agent string) []*Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Sandbox
	now := s.o.Now()
	for _, b := range s.live {
		if b.of(agent) && !b.expired(now) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *Sandbox) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Usage returns the number of sandboxes, including those being created or removed, and the sum of their quotas in
// bytes.
func (s *Store) Usage() (count int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, s.bytes
}

// Delete ends a sandbox of an agent: it is no longer found, the contexts of its runs are cancelled, and its Volume is
// closed after all of them are released.
func (s *Store) Delete(agent, id string) error {
	s.mu.Lock()
	b, err := s.get(agent, id)
	if err == nil {
		s.leave(b)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.remove(b, Deleted)
}

// Close deletes all sandboxes and stops the reaper. A second call waits for the first.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	var all []*Sandbox
	for _, b := range s.live {
		all = append(all, b)
	}
	for _, b := range all {
		s.leave(b)
	}
	s.mu.Unlock()
	if first {
		close(s.done)
	}
	var errs []error
	for _, b := range all {
		errs = append(errs, s.remove(b, Closed))
	}
	<-s.end
	s.pending.Wait()
	return errors.Join(errs...)
}

// leave unregisters a sandbox and cancels its runs. The caller holds s.mu, and calls remove after unlocking it.
func (s *Store) leave(b *Sandbox) {
	delete(s.live, b.ID)
	s.pending.Add(1)
	b.leaving = true
	for r := range b.runs {
		r.cancel(gone())
	}
	if len(b.runs) == 0 {
		close(b.idle)
	}
}
