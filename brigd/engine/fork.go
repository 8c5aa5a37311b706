package engine

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/workspace"
)

// fromSnapshot completes a request that names a snapshot: its bounds are the defaults, and o.Fill puts its files into
// the sandbox.
func (e *Engine) fromSnapshot(c Caller, r *SandboxRequest, o *workspace.CreateOptions) *job.Refusal {
	if r.From == "" {
		return nil
	}
	s, no := e.snapshotOf(c, r.From)
	if no != nil {
		return no
	}
	r.Disk, r.Inodes = cmp.Or(r.Disk, Size(s.Disk)), cmp.Or(r.Inodes, s.Inodes)
	o.Fill = func(v workspace.Volume, size, inodes int64) error {
		if e.opts.Pool == nil {
			s.use.RLock()
		} else if own, err := e.copyOf(s); err == nil {
			s = own
		} else {
			return err
		}
		defer s.use.RUnlock()
		if s.file == nil {
			return refuse("sandbox", "not_found", "from", "the snapshot is deleted", "name another one")
		}
		return s.files.Unpack(v, size, inodes)
	}
	return nil
}

// copyTime is how long an engine keeps its copy of a snapshot of the pool. The copy counts as a sandbox of its size.
const copyTime = time.Minute

// copyOf returns this engine's copy of a snapshot of the pool, read-locked. The caller unlocks it.
func (e *Engine) copyOf(s *snapshot) (*snapshot, error) {
	for {
		e.snaps.mu.Lock()
		own := e.snaps.all[s.ID]
		first := own == nil
		if first { // others wait for the lock
			own = s
			e.snaps.all[s.ID] = s
			s.use.Lock()
		}
		e.snaps.mu.Unlock()
		if first {
			err := e.fetch(s)
			s.use.Unlock()
			if err != nil {
				e.dropCopy(s)
				return nil, err
			}
			time.AfterFunc(copyTime, func() { e.dropCopy(s) })
		}
		if own.use.RLock(); own.file != nil {
			return own, nil
		}
		own.use.RUnlock() // it is being dropped
	}
}

// fetch reads the file of a snapshot of the pool.
func (e *Engine) fetch(s *snapshot) (err error) {
	hold, err := e.boxes.Hold(s.account, s.Bytes)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			hold.Release()
		}
	}()
	in, err := e.opts.Pool.Get(s.ID)
	if err != nil {
		return err
	}
	f, err := keep.Receive(in)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	r, err := headerIn(s.ID, f)
	if err == nil && (r.Agent != s.Agent || !slices.Equal(r.Chain, s.chain)) {
		err = errors.New("the snapshot's file is another owner's than its header says")
	}
	if err == nil {
		s.files, err = workspace.Read(f.Layer(), nil)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.file, s.hold = f, hold
	return nil
}

// dropCopy forgets this engine's copy.
func (e *Engine) dropCopy(s *snapshot) {
	e.snaps.mu.Lock()
	known := e.snaps.all[s.ID] == s
	if known {
		delete(e.snaps.all, s.ID)
	}
	e.snaps.mu.Unlock()
	if known {
		_ = s.close() // of a file in memory: cannot fail
	}
}
