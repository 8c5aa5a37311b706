package engine

import (
	"errors"
	"sync"

	"brig/brigd/keep"
	"brig/brigd/workspace"
)

// snapshot is a snapshot that requests can name.
type snapshot struct {
	SnapshotInfo
	chain []string
	hold  *workspace.Hold

	account string // of its owner, if it comes from a pool

	use   sync.RWMutex // read-locked while file is read
	file  *keep.File   // nil: deleted
	files workspace.Files
}

// newSnapshot returns a snapshot of a file. After an error the caller must close the file.
func newSnapshot(r *kept, f *keep.File, hold *workspace.Hold) (*snapshot, error) {
	files, err := workspace.Read(f.Layer(), nil)
	if err != nil {
		return nil, err
	}
	s := &snapshot{SnapshotInfo: *r.Snapshot, chain: r.Chain, hold: hold, file: f, files: files}
	s.Bytes = f.Size()
	hold.Set(s.Bytes)
	return s, nil
}

// close closes the file of a snapshot that has one, after the sandboxes that are being made from it.
func (s *snapshot) close() error {
	s.use.Lock()
	defer s.use.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	s.hold.Release()
	return err
}

func (c Caller) mayUse(s *snapshot) bool {
	agent := c.agent()
	return (agent == workspace.Any || agent == s.Agent) && c.Grant.Covers(s.chain)
}

// snapTable is a table of snapshots by their ids.
type snapTable struct {
	mu    sync.Mutex
	known map[string]*snapshot
}

func newSnapTable() *snapTable { return &snapTable{known: map[string]*snapshot{}} }

func (t *snapTable) add(s *snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[s.ID] = s
}

// drop removes a snapshot, and reports whether it was in the table.
func (t *snapTable) drop(s *snapshot) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[s.ID] != s {
		return false
	}
	delete(t.known, s.ID)
	return true
}

// close closes the files of all snapshots. Those in a store are not removed.
func (t *snapTable) close() (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.known {
		err = errors.Join(err, s.file.Close())
	}
	clear(t.known)
	return err
}
