package engine

import (
	"errors"
	"io"
	"maps"
	"slices"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/lease"
)

// vault keeps the files of snapshots: a *keep.Dir, or memory.
type vault interface {
	Save(id string, pack func(io.Writer) (meta any, err error)) (*keep.File, error)
	Remove(id string) error
}

// memory is a vault for as long as the process lives. A file in it ends when it is closed.
type memory struct{}

// Save implements vault.
func (memory) Save(_ string, pack func(io.Writer) (meta any, err error)) (*keep.File, error) {
	return keep.Memory(pack)
}

// Remove implements vault.
func (memory) Remove(string) error { return nil }

// listed are the snapshots of an engine that has no Pool.
type listed struct {
	*snapTable
	vault  vault
	leases *lease.Leases
	log    *Recorder
	failed func(id, what string, err error)
}

func (l *listed) find(id string) (*snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[id], nil
}

func (l *listed) all() ([]*snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.known)), nil
}

// publish makes a snapshot usable, until its token ends.
func (l *listed) publish(s *snapshot, r *kept) error {
	l.add(s)
	l.leases.Keep(s.ID, s.chain, r.Until, func(why *job.Refusal) {
		_ = l.log.record(audit.Event{Kind: audit.SnapshotDelete, Agent: s.Agent, Token: s.chain[len(s.chain)-1],
			Sandbox: s.Sandbox, Note: s.ID + ": " + why.Code}) // it ends in any case; the log counts missed events
		if err := l.remove(s); err != nil {
			l.failed(s.ID, "is not removed from the store", err)
		}
	})
	return nil
}

// remove removes a snapshot that is in the list. Sandboxes that are being made from it are finished first.
func (l *listed) remove(s *snapshot) error {
	if !l.drop(s) {
		return nil
	}
	l.leases.Drop(s.ID)
	return errors.Join(l.vault.Remove(s.ID), s.close())
}

func (l *listed) use(s *snapshot) (*snapshot, error) {
	s.use.RLock()
	return s, nil
}
