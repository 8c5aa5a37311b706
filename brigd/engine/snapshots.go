package engine

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/workspace"
)

const snapshotPrefix = "sn_"

// SnapshotInfo describes a snapshot: the files of a sandbox at some moment.
type SnapshotInfo struct {
	// ID names it in a SandboxRequest; it cannot be guessed.
	ID string `json:"id"`
	// Agent owns it: others do not see it.
	Agent string `json:"agent_id"`
	// Sandbox is whose files it has.
	Sandbox string `json:"sandbox"`
	// Created is when it was made.
	Created time.Time `json:"created"`
	// Bytes is how many it takes, which count like those of a sandbox.
	Bytes int64 `json:"bytes"`
	// Files is how many files and directories it has.
	Files int64 `json:"files"`
	// Disk and Inodes are the bounds of the sandbox, and of one made from it that names none.
	Disk   int64 `json:"disk_bytes"`
	Inodes int64 `json:"inodes"`
	// State is what it shows of runs: "idle" (none was in the sandbox), "frozen" (all stood still, so it is one moment),
	// or "live": each file has what it had at some moment, but not all the same.
	State string `json:"state"`
	// LeftOut is what a snapshot does not keep: FIFOs, sockets, set-user-ID bits, names below 256 directories.
	LeftOut string `json:"left_out,omitempty"`
}

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

// snapshots holds all snapshots by their ids.
type snapshots struct {
	mu  sync.Mutex
	all map[string]*snapshot
}

// Snapshot keeps the files of one of the caller's sandboxes as they are. Runs in it stand still meanwhile, if all of
// them have control groups.
func (e *Engine) Snapshot(c Caller, id string) (*SnapshotInfo, error) {
	if no := e.mayDo(c, "create"); no != nil {
		return nil, no
	}
	box, no := e.box(c, id)
	if no != nil {
		return nil, no
	}
	bytes, inodes, err := box.Tree.Usage()
	if err != nil {
		return nil, asRefusal(err, "sandbox", "snapshot_failed")
	}
	r := headerOf(box)
	r.ID, r.Created = NewID("sn"), time.Now()
	hold, err := e.boxes.Hold(r.Account, bytes+inodes<<10)
	if err != nil {
		return nil, asRefusal(err, "quota", "snapshot_failed")
	}
	v := about(audit.SandboxSnapshot, c, box)
	v.Note = r.ID
	if no := e.record(v); no != nil {
		hold.Release()
		return nil, no
	}
	s, err := e.pack(r, box, hold)
	if err != nil {
		hold.Release()
		return nil, notKept(err)
	}
	info := s.SnapshotInfo
	if err := e.publish(s, r); err != nil {
		return nil, notKept(errors.Join(err, s.close()))
	}
	return &info, nil
}

// counted counts what is written towards the bounds on sandboxes. A layer may be much larger than what the files take
// in a sandbox: it has the holes of sparse files.
type counted struct {
	io.Writer
	hold *workspace.Hold
	n    int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if err := c.hold.Grow(c.n); err != nil {
		return 0, err
	}
	return c.Writer.Write(p)
}

// pack writes a snapshot of a sandbox: to the store, or to memory.
func (e *Engine) pack(r *kept, box *workspace.Sandbox, hold *workspace.Hold) (*snapshot, error) {
	write := func(w io.Writer) (any, error) {
		box.Packing.Lock()
		defer box.Packing.Unlock()
		before, runs := box.Changed()
		thaw, frozen := e.freeze(box.ID)
		stats, err := box.Pack(&counted{Writer: w, hold: hold}, nil)
		err = errors.Join(err, thaw())
		if err != nil {
			return nil, err
		}
		i := &SnapshotInfo{ID: r.ID, Agent: r.Agent, Sandbox: box.ID, Created: r.Created, Bytes: stats.Bytes,
			Files: stats.Files, Disk: r.Size, Inodes: r.Inodes, State: "live", LeftOut: stats.String()}
		switch after, _ := box.Changed(); {
		case before == after && runs == 0:
			i.State = "idle"
		case before == after && runs == frozen:
			i.State = "frozen"
		}
		r.Snapshot = i
		return r, nil
	}
	var f *keep.File
	var err error
	onDisk := e.shelf != nil && e.opts.Pool == nil
	if onDisk {
		f, err = e.shelf.dir.Save(r.ID, write)
	} else {
		f, err = keep.Memory(write)
	}
	if err != nil {
		return nil, err
	}
	s, err := newSnapshot(r, f, hold)
	if err != nil {
		err = errors.Join(err, f.Close())
		if onDisk {
			err = errors.Join(err, e.shelf.dir.Remove(r.ID))
		}
	}
	return s, err
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

// enlist makes a snapshot usable, until its token ends.
func (e *Engine) enlist(s *snapshot, r *kept) {
	e.snaps.mu.Lock()
	e.snaps.all[s.ID] = s
	e.snaps.mu.Unlock()
	e.leaseFor(s.ID, s.chain, r.Until, func(why *job.Refusal) {
		_ = e.record(audit.Event{Kind: audit.SnapshotDelete, Agent: s.Agent, Token: s.chain[len(s.chain)-1],
			Sandbox: s.Sandbox, Note: s.ID + ": " + why.Code}) // it ends in any case; the log counts missed events
		if err := e.dropSnapshot(s); err != nil && e.shelf != nil {
			e.shelf.problem(s.ID, "is not removed from the store", err)
		}
	})
}

// dropSnapshot removes a snapshot that is in the list. Sandboxes that are being made from it are finished first.
func (e *Engine) dropSnapshot(s *snapshot) (err error) {
	if e.opts.Pool != nil {
		return e.opts.Pool.Remove(s.ID)
	}
	e.snaps.mu.Lock()
	known := e.snaps.all[s.ID] == s
	delete(e.snaps.all, s.ID)
	e.snaps.mu.Unlock()
	if !known {
		return nil
	}
	e.leases.live.Delete(s.ID)
	if e.shelf != nil {
		err = e.shelf.dir.Remove(s.ID)
	}
	return errors.Join(err, s.close())
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

// snapshotOf returns a snapshot that the caller may use, as box does for sandboxes.
func (e *Engine) snapshotOf(c Caller, id string) (*snapshot, *job.Refusal) {
	s, err := e.findSnapshot(id)
	if err != nil {
		return nil, asRefusal(err, "sandbox", "snapshot_failed")
	}
	if s == nil || !c.mayUse(s) {
		return nil, refuse("sandbox", "not_found", "from", "there is no such snapshot: it was never made, or deleted",
			"list the snapshots")
	}
	return s, nil
}

func (c Caller) mayUse(s *snapshot) bool {
	agent := c.agent()
	return (agent == workspace.Any || agent == s.Agent) && c.Grant.Covers(s.chain)
}

// Snapshots lists the caller's snapshots, the oldest first.
func (e *Engine) Snapshots(c Caller) ([]SnapshotInfo, error) {
	all, err := e.allSnapshots()
	if err != nil {
		return nil, asRefusal(err, "sandbox", "snapshot_failed")
	}
	list := []SnapshotInfo{}
	for _, s := range all {
		if c.mayUse(s) {
			list = append(list, s.SnapshotInfo)
		}
	}
	slices.SortFunc(list, func(a, b SnapshotInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// DeleteSnapshot deletes one of the caller's snapshots. Sandboxes made from it stay.
func (e *Engine) DeleteSnapshot(c Caller, id string) error {
	if no := e.mayDo(c, "delete"); no != nil {
		return no
	}
	s, no := e.snapshotOf(c, id)
	if no == nil {
		no = e.record(audit.Event{Kind: audit.SnapshotDelete, Agent: s.Agent, Token: c.Grant.id(), Sandbox: s.Sandbox,
			Note: s.ID})
	}
	if no != nil {
		return no
	}
	return e.dropSnapshot(s)
}

// closeSnapshots closes the files of all snapshots. The files in the store are not removed.
func (e *Engine) closeSnapshots() (err error) {
	e.snaps.mu.Lock()
	defer e.snaps.mu.Unlock()
	for _, s := range e.snaps.all {
		err = errors.Join(err, s.file.Close())
	}
	clear(e.snaps.all)
	return err
}
