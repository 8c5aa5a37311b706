package engine

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"brig/brigd/audit"
	"brig/brigd/keep"
	"brig/brigd/lease"
	"brig/brigd/workspace"
)

// Pool keeps snapshots for several engines, so that one that an engine has made can be used by all. Its errors should
// be *job.Refusal. Anyone who can write to it can forge the owner of a snapshot.
type Pool interface {
	// Put stores the file of a snapshot. header describes it, and is returned by Headers.
	Put(id string, header []byte, file *io.SectionReader) error
	// Get returns the file of a snapshot.
	Get(id string) (io.ReadCloser, error)
	// Header returns one header, or nil; Headers returns all.
	Header(id string) ([]byte, error)
	Headers() ([][]byte, error)
	// Remove removes a snapshot. A missing one is not an error.
	Remove(id string) error
}

// pooled are the snapshots of a Pool, of which an engine has some as copies.
type pooled struct {
	*snapTable
	pool   Pool
	vault  vault // of snapshots that are not in the pool yet
	space  *workspace.Store
	leases *lease.Leases
	log    *Recorder
}

// publish makes a snapshot usable by all engines with the same pool.
func (p *pooled) publish(s *snapshot, r *kept) error {
	all, err := p.all()
	if err != nil {
		return err
	}
	count, own, sum := 0, int64(0), int64(0)
	for _, other := range all {
		if sum += other.Bytes; other.account == r.Account {
			count, own = count+1, own+other.Bytes
		}
	}
	if err := p.space.Fits(s.Bytes, count, own, sum); err != nil {
		return err
	}
	r.Snapshot = &s.SnapshotInfo
	header, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := p.pool.Put(r.ID, header, s.file.Whole()); err != nil {
		return err
	}
	err = p.vault.Remove(r.ID) // it may have been there before there was a pool
	p.add(s)
	time.AfterFunc(copyTime, func() { p.dropCopy(s) })
	return err
}

func (p *pooled) find(id string) (*snapshot, error) {
	header, err := p.pool.Header(id)
	if err != nil || header == nil {
		return nil, err
	}
	list, err := p.read(header)
	if err != nil || len(list) == 0 || list[0].ID != id {
		return nil, err
	}
	return list[0], nil
}

func (p *pooled) all() ([]*snapshot, error) {
	headers, err := p.pool.Headers()
	if err != nil {
		return nil, err
	}
	return p.read(headers...)
}

// remove removes a snapshot from the pool. Copies that engines have of it stay until their time.
func (p *pooled) remove(s *snapshot) error { return p.pool.Remove(s.ID) }

// read returns the snapshots of the pool that headers describe. It removes a snapshot whose token is expired or
// revoked. Without a ledger this is unknown, and a token's snapshots are left out.
func (p *pooled) read(headers ...[]byte) (list []*snapshot, err error) {
	for _, text := range headers {
		r := &kept{}
		if json.Unmarshal(text, r) != nil || r.Snapshot == nil {
			continue
		}
		if len(r.Chain) > 0 {
			if !p.leases.Knows() {
				continue
			}
			if why := p.leases.Ended(r.Chain, r.Until); why != nil {
				_ = p.log.record(audit.Event{Kind: audit.SnapshotDelete, Agent: r.Agent, Token: r.Chain[len(r.Chain)-1],
					Sandbox: r.Snapshot.Sandbox, Note: r.ID + ": " + why.Code}) // as in listed
				err = errors.Join(err, p.pool.Remove(r.ID))
				continue
			}
		}
		list = append(list, &snapshot{SnapshotInfo: *r.Snapshot, chain: r.Chain, account: r.Account})
	}
	return list, err
}

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
