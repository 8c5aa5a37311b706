package engine

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/brigd/freezer"
	"brig/brigd/job"
	"brig/brigd/keep"
	"brig/brigd/lease"
	"brig/brigd/workspace"
)

// catalog has the snapshots that callers may name: those of this engine, or of all engines with the same Pool.
type catalog interface {
	// find returns a snapshot, or nil if there is none.
	find(id string) (*snapshot, error)
	all() ([]*snapshot, error)
	// publish makes a snapshot usable.
	publish(s *snapshot, r *kept) error
	remove(s *snapshot) error
	// use returns a snapshot with its file, read-locked. The caller unlocks it.
	use(s *snapshot) (*snapshot, error)
	close() error
}

// snapshots makes, lists and deletes snapshots for callers, and fills sandboxes from them.
type snapshots struct {
	catalog catalog
	vault   vault // of new ones
	boxes   *boxes
	freezer *freezer.Freezer
	access  *access
	log     *Recorder
}

func newSnapshots(pool Pool, k *shelf, b *boxes, l *lease.Leases, in *freezer.Freezer, a *access, log *Recorder,
	failed func(id, what string, err error)) *snapshots {
	store := vault(memory{})
	if k != nil {
		store = k.dir
	}
	n := &snapshots{vault: store, boxes: b, freezer: in, access: a, log: log}
	if pool == nil {
		n.catalog = &listed{newSnapTable(), store, l, log, failed}
		return n
	}
	n.vault, n.catalog = memory{}, &pooled{newSnapTable(), pool, store, b.Store, l, log}
	return n
}

// Snapshot keeps the files of one of the caller's sandboxes as they are. Runs in it stand still meanwhile, if all of
// them have control groups.
func (n *snapshots) Snapshot(c Caller, id string) (*SnapshotInfo, error) {
	if no := n.access.mayDo(c, "create"); no != nil {
		return nil, no
	}
	box, no := n.boxes.find(c, id)
	if no != nil {
		return nil, no
	}
	bytes, inodes, err := box.Tree.Usage()
	if err != nil {
		return nil, asRefusal(err, "sandbox", "snapshot_failed")
	}
	r := headerOf(box)
	r.ID, r.Created = NewID("sn"), time.Now()
	hold, err := n.boxes.Hold(r.Account, bytes+inodes<<10)
	if err != nil {
		return nil, asRefusal(err, "quota", "snapshot_failed")
	}
	v := about(audit.SandboxSnapshot, c, box)
	v.Note = r.ID
	if no := n.log.record(v); no != nil {
		hold.Release()
		return nil, no
	}
	s, err := n.pack(r, box, hold)
	if err != nil {
		hold.Release()
		return nil, notKept(err)
	}
	info := s.SnapshotInfo
	if err := n.catalog.publish(s, r); err != nil {
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

// pack writes a snapshot of a sandbox.
func (n *snapshots) pack(r *kept, box *workspace.Sandbox, hold *workspace.Hold) (*snapshot, error) {
	write := func(w io.Writer) (any, error) {
		box.Packing.Lock()
		defer box.Packing.Unlock()
		before, runs := box.Changed()
		thaw, frozen := n.freezer.Freeze(box.ID)
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
	f, err := n.vault.Save(r.ID, write)
	if err != nil {
		return nil, err
	}
	s, err := newSnapshot(r, f, hold)
	if err != nil {
		err = errors.Join(err, f.Close(), n.vault.Remove(r.ID))
	}
	return s, err
}

// of returns a snapshot that the caller may use, as boxes.find does for sandboxes.
func (n *snapshots) of(c Caller, id string) (*snapshot, *job.Refusal) {
	s, err := n.catalog.find(id)
	if err != nil {
		return nil, asRefusal(err, "sandbox", "snapshot_failed")
	}
	if s == nil || !c.mayUse(s) {
		return nil, refuse("sandbox", "not_found", "from", "there is no such snapshot: it was never made, or deleted",
			"list the snapshots")
	}
	return s, nil
}

// Snapshots lists the caller's snapshots, the oldest first.
func (n *snapshots) Snapshots(c Caller) ([]SnapshotInfo, error) {
	all, err := n.catalog.all()
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
func (n *snapshots) DeleteSnapshot(c Caller, id string) error {
	if no := n.access.mayDo(c, "delete"); no != nil {
		return no
	}
	s, no := n.of(c, id)
	if no == nil {
		no = n.log.record(audit.Event{Kind: audit.SnapshotDelete, Agent: s.Agent, Token: c.Grant.id(), Sandbox: s.Sandbox,
			Note: s.ID})
	}
	if no != nil {
		return no
	}
	return n.catalog.remove(s)
}

// fill completes a request that names a snapshot: its bounds are the defaults, and o.Fill puts its files into
// the sandbox.
func (n *snapshots) fill(c Caller, r *SandboxRequest, o *workspace.CreateOptions) *job.Refusal {
	if r.From == "" {
		return nil
	}
	s, no := n.of(c, r.From)
	if no != nil {
		return no
	}
	r.Disk, r.Inodes = cmp.Or(r.Disk, Size(s.Disk)), cmp.Or(r.Inodes, s.Inodes)
	o.Fill = func(v workspace.Volume, size, inodes int64) error {
		s, err := n.catalog.use(s)
		if err != nil {
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

// restore takes a snapshot from a store. After an error the caller must close the file.
func (n *snapshots) restore(r *kept, f *keep.File) error {
	hold, err := n.boxes.Hold(r.Account, f.Size())
	if err != nil {
		return err
	}
	s, err := newSnapshot(r, f, hold)
	if err != nil {
		hold.Release()
		return err
	}
	return n.catalog.publish(s, r)
}
