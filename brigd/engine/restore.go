package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"brig/brigd/audit"
	"brig/brigd/keep"
	"brig/brigd/lease"
	"brig/brigd/workspace"
	"brig/internal/words"
)

// restorer brings back the sandboxes and snapshots of a store.
type restorer struct {
	shelf  *shelf
	boxes  *boxes
	snaps  *snapshots
	leases *lease.Leases
	log    *Recorder
}

// restore restores the sandboxes and snapshots in the directory. A file that is damaged, or that is not allowed any
// more, is reported and stays in the directory.
func (k *restorer) restore() error {
	names, err := k.shelf.dir.Names()
	if err != nil {
		return err
	}
	for _, id := range names {
		f, err := k.shelf.dir.Load(id)
		if err == nil {
			if err = k.restoreOne(id, f); err != nil {
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			k.shelf.failed(id, "is not restored", err)
		}
	}
	return nil
}

// changed returns the header of a sandbox's last save, and the file with its changes since base, or nil if there are
// none.
func (k *restorer) changed(base *kept, f *keep.File) (*kept, *keep.File, error) {
	name := base.ID + keep.Changes
	c, err := k.shelf.dir.Load(name)
	if errors.Is(err, os.ErrNotExist) {
		return base, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := headerIn(base.ID, c)
	switch {
	case err != nil:
	case r.Base == f.Digest:
		return r, c, nil
	case r.Base != "" && r.Save < base.Save: // brigd was killed before it had removed them
		return base, nil, errors.Join(k.shelf.dir.Remove(name), c.Close())
	default:
		err = fmt.Errorf("the changes in %s are those of another file; put that in its place, or remove the changes", name)
	}
	return nil, nil, errors.Join(err, c.Close())
}

// restoreOne restores one sandbox or snapshot. After an error the caller must close the file.
func (k *restorer) restoreOne(id string, f *keep.File) error {
	r, err := headerIn(id, f)
	if err != nil {
		return err
	}
	if r.Base != "" {
		return errors.New("it has the changes of another file; put that in its place")
	}
	var changes *io.SectionReader
	if r.Snapshot == nil {
		last, c, err := k.changed(r, f)
		if err != nil {
			return err
		}
		if r = last; c != nil {
			changes = c.Layer()
			defer c.Close()
		}
	}
	if len(r.Chain) > 0 && !k.leases.Knows() {
		return words.Error("it belongs to a token, and there is no key to check it with; add " + words.Field("token_key"))
	}
	if no := k.leases.Ended(r.Chain, r.Until); no != nil {
		return errors.Join(no, k.shelf.dir.Remove(id))
	}
	if r.Snapshot != nil {
		return k.snaps.restore(r, f)
	}
	if time.Since(r.Used) >= r.TTL {
		return errors.Join(errors.New("it has expired"), k.shelf.dir.Remove(id))
	}
	files, err := workspace.Read(f.Layer(), changes)
	if err != nil {
		return err
	}
	box, err := k.boxes.Create(r.Agent, workspace.CreateOptions{Size: r.Size, Inodes: r.Inodes, TTL: r.TTL,
		Chain: r.Chain, Until: r.Until, Account: r.Account, Extra: &extra{mounts: r.Mounts},
		Past: &workspace.Past{ID: r.ID, Created: r.Created, Used: r.Used}, Fill: files.Unpack})
	if err != nil {
		return err
	}
	s := k.shelf.of(box)
	s.changes, _ = box.Changed()
	s.at, s.count = r.Used, r.Save
	k.boxes.lease(box)
	_ = k.log.record(about(audit.SandboxRestore, Caller{}, box)) // it was allowed before; the log counts missed events
	return f.Close()
}
