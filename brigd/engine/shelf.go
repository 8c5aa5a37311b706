package engine

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"brig/brigd/keep"
	"brig/brigd/workspace"
)

// DefaultSaveEvery is the time between two saves of a sandbox that changes.
const DefaultSaveEvery = 5 * time.Second

// shelf saves sandboxes in a directory, and restores them.
type shelf struct {
	dir    *keep.Dir
	every  time.Duration
	failed func(id, what string, err error)
	saves  sync.Map // of *saved, by *workspace.Sandbox
	end    chan struct{}
	wait   sync.WaitGroup
}

// saved is the state of a sandbox on the disk.
type saved struct {
	mu      sync.Mutex // held while it is saved or removed
	changes int64      // workspace.Sandbox.Changed at the last save; -1 forces another save
	gone    bool       // it has been deleted
	count   int64      // of saves, also by earlier processes
	base    *base      // nil before this process has written one

	told sync.Mutex
	at   time.Time // SandboxInfo.Saved
	why  string    // why the last save failed; "" if it did not
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

// openShelf opens a directory (Options.Store).
func openShelf(at string, every time.Duration, failed func(id, what string, err error)) (*shelf, error) {
	dir, err := keep.Open(at)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	return &shelf{dir: dir, every: every, failed: failed, end: make(chan struct{})}, nil
}

// start begins to save in the background what list returns.
func (k *shelf) start(list func(agent string) []*workspace.Sandbox) {
	k.wait.Go(func() { k.saveOften(list) })
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

func (k *shelf) saveOften(list func(agent string) []*workspace.Sandbox) {
	tick := time.NewTicker(k.every)
	defer tick.Stop()
	for {
		select {
		case <-k.end:
			return
		case <-tick.C:
			for _, box := range list(workspace.Any) {
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
	if ofBox(box).living.Load() {
		return
	}
	s := k.of(box)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now()
	n, running := box.Changed()
	switch {
	case s.gone:
		return
	case n == s.changes: // the disk has all of it as it is now
		s.told.Lock()
		s.at = at
		s.told.Unlock()
		return
	}
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
		k.failed(box.ID, "is not saved", err)
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

// remove forgets a sandbox that has been deleted or has expired.
func (k *shelf) remove(box *workspace.Sandbox) {
	s := k.of(box)
	s.mu.Lock()
	s.gone = true
	err := k.dir.Remove(box.ID)
	s.mu.Unlock()
	k.saves.Delete(box)
	if err != nil {
		k.failed(box.ID, "is not removed from the store", err)
	}
}

// describe adds to an answer when the sandbox was saved, or why it was not.
func (k *shelf) describe(box *workspace.Sandbox, i *SandboxInfo) {
	if k == nil || ofBox(box).living.Load() {
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
		at := s.at // the next save sets it
		i.Saved = &at
	}
}
