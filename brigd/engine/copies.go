package engine

import (
	"errors"
	"slices"
	"time"

	"brig/brigd/keep"
	"brig/brigd/workspace"
)

// copyTime is how long an engine keeps its copy of a snapshot of the pool. The copy counts as a sandbox of its size.
const copyTime = time.Minute

// use returns this engine's copy of a snapshot of the pool, read-locked. The caller unlocks it.
func (p *pooled) use(s *snapshot) (*snapshot, error) {
	for {
		p.mu.Lock()
		own := p.known[s.ID]
		first := own == nil
		if first { // others wait for the lock
			own = s
			p.known[s.ID] = s
			s.use.Lock()
		}
		p.mu.Unlock()
		if first {
			err := p.fetch(s)
			s.use.Unlock()
			if err != nil {
				p.dropCopy(s)
				return nil, err
			}
			time.AfterFunc(copyTime, func() { p.dropCopy(s) })
		}
		if own.use.RLock(); own.file != nil {
			return own, nil
		}
		own.use.RUnlock() // it is being dropped
	}
}

// fetch reads the file of a snapshot of the pool.
func (p *pooled) fetch(s *snapshot) (err error) {
	hold, err := p.space.Hold(s.account, s.Bytes)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			hold.Release()
		}
	}()
	in, err := p.pool.Get(s.ID)
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
func (p *pooled) dropCopy(s *snapshot) {
	if p.drop(s) {
		_ = s.close() // of a file in memory: cannot fail
	}
}
