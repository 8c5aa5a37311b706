package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// StoreOptions configures a Store. Zero values mean the defaults in parentheses.
type StoreOptions struct {
	// Name, if set, ends the ids of sandboxes, after a hyphen: it tells where a sandbox is.
	Name string
	// Make creates a Volume with a size in bytes and a number of inodes, with the directories input, work and output.
	// It may be called concurrently.
	Make func(size, inodes int64) (Volume, error)
	// Max is the maximum number of sandboxes (100), and MaxPerAgent that of one agent (Max). MaxBytes limits the sum of
	// all quotas (4 GiB), including 1 KiB of kernel memory for each inode, and MaxBytesPerAgent that of one agent
	// (MaxBytes).
	Max, MaxPerAgent           int
	MaxBytes, MaxBytesPerAgent int64
	// DefaultSize (256 MiB) and MaxSize (MaxBytes) limit one sandbox in bytes; DefaultInodes (16,384) and MaxInodes
	// (2^20) limit it in inodes.
	DefaultSize, MaxSize, DefaultInodes, MaxInodes int64
	// DefaultTTL (1 hour) and MaxTTL (24 hours) are the time after which an unused sandbox expires.
	DefaultTTL, MaxTTL time.Duration
	// Removed, if set, is called when a sandbox has ended, with the cause (Deleted, Expired or Closed) and the error of
	// closing its Volume. It may be called concurrently, and must not wait for Store.Close.
	Removed func(s *Sandbox, by string, err error)
	// Closing, if set, is called by Store.Close for each sandbox when its runs have ended and its files are still there.
	Closing func(s *Sandbox)
}

// Causes of a sandbox's end: see StoreOptions.Removed.
const (
	Deleted = "deleted" // Store.Delete
	Expired = "expired" // its TTL
	Closed  = "closed"  // Store.Close
)

const minInodes = 16 // for the root, the areas and some files

func (o *StoreOptions) setDefaults() {
	o.Max = cmp.Or(o.Max, 100)
	o.MaxPerAgent = cmp.Or(o.MaxPerAgent, o.Max)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<30)
	o.MaxBytesPerAgent = cmp.Or(o.MaxBytesPerAgent, o.MaxBytes)
	o.MaxSize = cmp.Or(o.MaxSize, o.MaxBytesPerAgent)
	o.DefaultSize = cmp.Or(o.DefaultSize, min(256<<20, o.MaxSize))
	o.MaxInodes = cmp.Or(o.MaxInodes, 1<<20)
	o.DefaultInodes = cmp.Or(o.DefaultInodes, min(16<<10, o.MaxInodes))
	o.MaxTTL = cmp.Or(o.MaxTTL, 24*time.Hour)
	o.DefaultTTL = cmp.Or(o.DefaultTTL, min(time.Hour, o.MaxTTL))
}

// Store holds all sandboxes, and removes those that expire. Its methods may be called concurrently.
type Store struct {
	o StoreOptions

	mu      sync.Mutex // also guards fields of Sandbox
	closed  bool
	live    map[string]*Sandbox
	all     map[*Sandbox]bool // also those that are being created or removed
	pending sync.WaitGroup    // creations and removals in progress
}

// NewStore returns a Store.
func NewStore(o StoreOptions) *Store {
	o.setDefaults()
	return &Store{o: o, live: map[string]*Sandbox{}, all: map[*Sandbox]bool{}}
}

// CreateOptions configures one sandbox. Zero values mean the Store's defaults.
type CreateOptions struct {
	Size   int64         // its quota in bytes
	Inodes int64         // its quota in inodes
	TTL    time.Duration // the time until it expires if it is not used
	Chain  []string      // other ids of its owner, such as a token's; the Store does not use them
	Until  time.Time     // when its owner's token expires; the Store does not use it
	// Account is the name to which MaxPerAgent and MaxBytesPerAgent apply. If it is "", they apply to the agent.
	Account string
	Extra   any                                      // for the caller; the Store does not use it
	Past    *Past                                    // set for a sandbox that is restored
	Fill    func(v Volume, size, inodes int64) error // puts the first files into it; may be nil
	Bounds  Bounds                                   // besides those of the Store
}

// Create creates a sandbox for an agent.
func (s *Store) Create(agent string, o CreateOptions) (*Sandbox, error) {
	if err := CheckAgent(agent); err != nil {
		return nil, err
	}
	if err := s.bound(&o); err != nil {
		return nil, err
	}
	o.Account = cmp.Or(o.Account, agent)
	b := &Sandbox{ID: "sb_" + strings.ToLower(rand.Text()), Agent: agent, CreateOptions: o, store: s,
		runs: map[context.Context]stay{}}
	if s.o.Name != "" {
		b.ID += "-" + s.o.Name
	}
	if o.Past != nil {
		b.ID = o.Past.ID
	}
	if err := s.reserve(b); err != nil {
		return nil, err
	}
	defer s.pending.Done()
	v, err := s.o.Make(o.Size, o.Inodes)
	if err != nil {
		s.free(b)
		return nil, fmt.Errorf("sandbox: make a volume of %d bytes and %d inodes: %w", o.Size, o.Inodes, err)
	}
	b.Volume, b.Tree = v, newTree(v)
	b.Tools, b.Search, b.Watches = &Tools{tree: b.Tree}, newSearch(b.Tree), newWatches(b.Tree)
	b.Tree.used, b.Tree.wrote = b.touch, b.wrote
	if err = b.Tree.check(); err == nil && o.Fill != nil {
		err = o.Fill(v, o.Size, o.Inodes)
	}
	if err == nil {
		err = s.add(b)
	}
	if err != nil {
		err = errors.Join(err, v.Close())
		s.free(b) // last: the volume holds its bytes until it is closed
		return nil, err
	}
	return b, nil
}

// bound sets the defaults, and refuses values that are out of bounds.
func (s *Store) bound(o *CreateOptions) error {
	o.Size = cmp.Or(o.Size, s.o.DefaultSize)
	o.Inodes = cmp.Or(o.Inodes, s.o.DefaultInodes)
	o.TTL = cmp.Or(o.TTL, s.o.DefaultTTL)
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
		return errEnding()
	}
	b.Created = time.Now()
	b.used = b.Created
	if p := b.Past; p != nil {
		b.Created, b.used = p.Created, p.Used
	}
	b.timer = time.AfterFunc(time.Until(b.used.Add(b.TTL)), b.expire)
	s.live[b.ID] = b
	return nil
}

// Count returns the number of sandboxes, including those being created or removed.
func (s *Store) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for b := range s.all {
		if b.ID != "" { // otherwise a Hold
			n++
		}
	}
	return n
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
	if b == nil || !b.of(agent) || b.expired() {
		return nil, refuse(CodeNotFound, "There is no sandbox %s: it was never made, or deleted, or has expired", show(id))
	}
	return b, nil
}

// List returns the sandboxes of an agent, or of all agents if agent is Any, the oldest first.
func (s *Store) List(agent string) []*Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Sandbox
	for _, b := range s.live {
		if b.of(agent) && !b.expired() {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *Sandbox) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return list
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

// Close deletes all sandboxes. A second call waits for the first.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.live))
	for _, b := range all {
		s.leave(b)
	}
	s.mu.Unlock()
	var errs []error
	for _, b := range all {
		errs = append(errs, s.remove(b, Closed))
	}
	s.pending.Wait()
	return errors.Join(errs...)
}

// leave unregisters a sandbox and cancels its runs. The caller holds s.mu, and calls remove after unlocking it.
func (s *Store) leave(b *Sandbox) {
	delete(s.live, b.ID)
	s.pending.Add(1)
	b.timer.Stop()
	for _, s := range b.runs {
		s.cancel(gone())
	}
}

// remove ends an unregistered sandbox after its runs have ended.
func (s *Store) remove(b *Sandbox, by string) error {
	defer s.pending.Done()
	b.running.Wait()
	if by == Closed && s.o.Closing != nil {
		s.o.Closing(b)
	}
	b.Tree.Close()
	err := b.Volume.Close()
	if err != nil {
		err = fmt.Errorf("sandbox: close the volume of %s: %w", b.ID, err)
	}
	s.free(b)
	if s.o.Removed != nil {
		s.o.Removed(b, by, err)
	}
	return err
}
