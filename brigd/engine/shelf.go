package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/workspace"
)

// DefaultSaveEvery is the time between two saves of a sandbox that changes.
const DefaultSaveEvery = 5 * time.Second

// kept is the header of a file of the sandbox store. It describes a sandbox or a snapshot.
type kept struct {
	ID      string        `json:"id"`
	Agent   string        `json:"agent"`
	Account string        `json:"account"`
	Chain   []string      `json:"chain,omitempty"` // of its token
	Until   time.Time     `json:"until,omitzero"`  // when the token expires
	Created time.Time     `json:"created"`
	Used    time.Time     `json:"used,omitzero"` // like TTL, not set for a snapshot
	TTL     time.Duration `json:"ttl_ns,omitempty"`
	Size    int64         `json:"size"`
	Inodes  int64         `json:"inodes"`
	Mounts  []Mount       `json:"mounts,omitempty"` // each run checks them again
	// Snapshot is set if the file holds a snapshot.
	Snapshot *SnapshotInfo `json:"snapshot,omitempty"`
	// Save counts the saves of a sandbox. In a file of changes, Base is the digest of the file that they apply to.
	Save int64  `json:"save,omitempty"`
	Base string `json:"base,omitempty"`
}

func headerOf(box *workspace.Sandbox) *kept {
	return &kept{ID: box.ID, Agent: box.Agent, Account: box.Account, Chain: box.Chain, Until: box.Until,
		Created: box.Created, Used: box.Used(), TTL: box.TTL, Size: box.Size, Inodes: box.Inodes, Mounts: mountsOf(box)}
}

// shelf saves sandboxes in a directory, and restores them.
type shelf struct {
	e     *Engine
	dir   *keep.Dir
	every time.Duration
	saves sync.Map // of *saved, by *workspace.Sandbox
	end   chan struct{}
	wait  sync.WaitGroup
}

// saved is the state of a sandbox on the disk.
type saved struct {
	mu      sync.Mutex // held while it is saved or removed
	changes int64      // workspace.Sandbox.Changed at the last save; -1 forces another save
	gone    bool       // it has been deleted
	count   int64      // of saves, also by earlier processes
	base    *base      // nil before this process has written one

	told sync.Mutex
	at   time.Time
	why  string // why the last save failed; "" if it did not
}

// base is the last complete file of a sandbox, to which later files of changes apply.
type base struct {
	files  workspace.Table
	digest string
	size   int64 // bytes
	old    bool  // the changes have grown so much that the next save writes another base
}

// ErrStore is in the error of New if Options.Store cannot be used.
var ErrStore = errors.New("the sandbox store")

// openShelf opens Options.Store and restores what is in it.
func (e *Engine) openShelf() error {
	dir, err := keep.Open(e.opts.Store)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	e.shelf = &shelf{e: e, dir: dir, every: e.opts.SaveEvery, end: make(chan struct{})}
	if err := e.shelf.restore(); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	e.shelf.wait.Go(e.shelf.saveOften)
	return nil
}

// stop ends the saves in the background.
func (k *shelf) stop() {
	if k != nil {
		close(k.end)
		k.wait.Wait()
	}
}

// close closes the directory, after the last save.
func (k *shelf) close() error {
	if k == nil {
		return nil
	}
	return k.dir.Close()
}

func (k *shelf) saveOften() {
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	for {
		select {
		case <-k.end:
			return
		case <-tick.C:
			for _, box := range k.e.boxes.List(workspace.Any) {
				k.save(box)
			}
		}
	}
}

func (k *shelf) of(box *workspace.Sandbox) *saved {
	s, _ := k.saves.LoadOrStore(box, &saved{changes: -1})
	return s.(*saved)
}

// save writes a sandbox if it may have changed.
func (k *shelf) save(box *workspace.Sandbox) {
	s := k.of(box)
	s.mu.Lock()
	defer s.mu.Unlock()
	n, running := box.Changed()
	if s.gone || n == s.changes {
		return
	}
	at := time.Now()
	err := k.write(box, s)
	if no := asRefusal(err, "", ""); no != nil && no.Code == workspace.CodeNotFound {
		return // it has been deleted
	}
	s.told.Lock()
	defer s.told.Unlock()
	if err == nil {
		s.at, s.why = at, ""
		if s.changes = n; running > 0 {
			s.changes = -1
		}
		return
	}
	if why := notKept(err).Message; s.why != why {
		s.why = why
		k.problem(box.ID, "is not saved", err)
	}
}

// write saves a sandbox: all of it as a new base, or its changes since the last base as long as they are less than half
// as large.
func (k *shelf) write(box *workspace.Sandbox, s *saved) error {
	to, name, digest := s.base, box.ID+keep.Changes, ""
	whole := to == nil || to.old
	if whole {
		to, name = &base{}, box.ID
	} else {
		digest = to.digest
	}
	s.count++
	f, err := k.dir.Save(name, func(w io.Writer) (any, error) {
		box.Packing.Lock()
		defer box.Packing.Unlock()
		_, err := box.Pack(w, &to.files)
		h := headerOf(box)
		h.Save, h.Base = s.count, digest
		return h, err
	})
	if err != nil {
		if whole {
			s.base = nil // the file may be the new one already
		}
		return err
	}
	if whole {
		to.digest, to.size, s.base = f.Digest, f.Size(), to
		err = k.dir.Remove(box.ID + keep.Changes) // they are the old base's
	} else {
		to.old = f.Size() > to.size/2
	}
	return errors.Join(err, f.Close())
}

// notKept returns the Refusal for a save or snapshot that failed. It does not contain the path of the store.
func notKept(err error) *job.Refusal {
	if file, ok := errors.AsType[*os.PathError](err); ok {
		err = fmt.Errorf("the sandbox store: %w", file.Err)
	}
	no := asRefusal(err, "sandbox", "snapshot_failed")
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		no.Code = workspace.CodeDiskFull
		no.NextSteps = []string{"delete snapshots, or have the operator make room on its disk"}
	}
	return no
}

// problem reports a failure to the operator.
func (k *shelf) problem(id, what string, err error) {
	k.e.storeFailed(id, what, err)
}

func (e *Engine) storeFailed(id, what string, err error) {
	if e.opts.StoreFailed != nil {
		e.opts.StoreFailed(id, what, err)
	}
}

// remove forgets a sandbox that has been deleted or has expired.
func (k *shelf) remove(box *workspace.Sandbox) {
	s := k.of(box)
	s.mu.Lock()
	s.gone = true
	err := k.dir.Remove(box.ID)
	s.mu.Unlock()
	k.saves.Delete(box)
	if err != nil {
		k.problem(box.ID, "is not removed from the store", err)
	}
}

// describe adds to an answer when the sandbox was saved, or why it was not.
func (k *shelf) describe(box *workspace.Sandbox, i *SandboxInfo) {
	if k == nil {
		return
	}
	i.SaveEvery = Seconds(k.every)
	known, ok := k.saves.Load(box)
	if !ok {
		return // not saved yet, or deleted
	}
	s := known.(*saved)
	s.told.Lock()
	defer s.told.Unlock()
	if i.NotSaved = s.why; !s.at.IsZero() {
		i.Saved = &s.at
	}
}

// leaseSandbox makes a sandbox end with the token that created it.
func (e *Engine) leaseSandbox(box *workspace.Sandbox) {
	e.leaseFor(box.ID, box.Chain, box.Until, func(why *job.Refusal) {
		v := about(audit.SandboxDelete, Caller{}, box)
		v.Token, v.Note = box.Chain[len(box.Chain)-1], why.Code
		_ = e.record(v)                       // the sandbox ends even if this fails; the log counts missed events
		_ = e.boxes.Delete(box.Agent, box.ID) // it may be gone already; other errors go to StoreOptions.Removed
	})
}

// leaseFor makes what was made with a token end with the token. Without a token there is no chain, and no end.
func (e *Engine) leaseFor(id string, chain []string, until time.Time, end func(*job.Refusal)) {
	if len(chain) == 0 {
		return
	}
	var once sync.Once
	e.leases.live.Store(id, lease{chain: chain, until: until, sandbox: true,
		end: func(why *job.Refusal) { once.Do(func() { end(why) }) }})
}
