package engine

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"brig/brigd/audit"
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

// publish makes a snapshot usable: by this engine, or by all with the same pool.
func (e *Engine) publish(s *snapshot, r *kept) error {
	if e.opts.Pool == nil {
		e.enlist(s, r)
		return nil
	}
	all, err := e.allSnapshots()
	if err != nil {
		return err
	}
	count, own, sum := 0, int64(0), int64(0)
	for _, other := range all {
		if sum += other.Bytes; other.account == r.Account {
			count, own = count+1, own+other.Bytes
		}
	}
	if err := e.boxes.Fits(s.Bytes, count, own, sum); err != nil {
		return err
	}
	r.Snapshot = &s.SnapshotInfo
	header, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := e.opts.Pool.Put(r.ID, header, s.file.Whole()); err != nil {
		return err
	}
	if e.shelf != nil { // it may have been there before there was a pool
		err = e.shelf.dir.Remove(r.ID)
	}
	e.snaps.mu.Lock()
	defer e.snaps.mu.Unlock()
	e.snaps.all[s.ID] = s
	time.AfterFunc(copyTime, func() { e.dropCopy(s) })
	return err
}

// findSnapshot returns a snapshot, or nil if there is none.
func (e *Engine) findSnapshot(id string) (*snapshot, error) {
	if e.opts.Pool == nil {
		e.snaps.mu.Lock()
		defer e.snaps.mu.Unlock()
		return e.snaps.all[id], nil
	}
	header, err := e.opts.Pool.Header(id)
	if err != nil || header == nil {
		return nil, err
	}
	list, err := e.pooled(header)
	if err != nil || len(list) == 0 || list[0].ID != id {
		return nil, err
	}
	return list[0], nil
}

func (e *Engine) allSnapshots() ([]*snapshot, error) {
	if e.opts.Pool == nil {
		e.snaps.mu.Lock()
		defer e.snaps.mu.Unlock()
		return slices.Collect(maps.Values(e.snaps.all)), nil
	}
	headers, err := e.opts.Pool.Headers()
	if err != nil {
		return nil, err
	}
	return e.pooled(headers...)
}

// pooled returns the snapshots of the pool that headers describe. It removes a snapshot whose token is expired or
// revoked. Without a ledger this is unknown, and a token's snapshots are left out.
func (e *Engine) pooled(headers ...[]byte) (list []*snapshot, err error) {
	for _, text := range headers {
		r := &kept{}
		if json.Unmarshal(text, r) != nil || r.Snapshot == nil {
			continue
		}
		if len(r.Chain) > 0 {
			if e.opts.Ledger == nil {
				continue
			}
			if why := e.leases.over(lease{chain: r.Chain, until: r.Until, sandbox: true}, time.Now()); why != nil {
				_ = e.record(audit.Event{Kind: audit.SnapshotDelete, Agent: r.Agent, Token: r.Chain[len(r.Chain)-1],
					Sandbox: r.Snapshot.Sandbox, Note: r.ID + ": " + why.Code}) // as in enlist
				err = errors.Join(err, e.opts.Pool.Remove(r.ID))
				continue
			}
		}
		list = append(list, &snapshot{SnapshotInfo: *r.Snapshot, chain: r.Chain, account: r.Account})
	}
	return list, err
}
