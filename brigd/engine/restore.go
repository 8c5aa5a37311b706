package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/brigd/keep"
	"brig/brigd/workspace"
	"brig/internal/words"
)

// restore restores the sandboxes and snapshots in the directory. A file that is damaged, or that is not allowed any
// more, is reported and stays in the directory.
func (k *shelf) restore() error {
	names, err := k.dir.Names()
	if err != nil {
		return err
	}
	for _, id := range names {
		f, err := k.dir.Load(id)
		if err == nil {
			if err = k.restoreOne(id, f); err != nil {
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			k.problem(id, "is not restored", err)
		}
	}
	return nil
}

// headerIn returns the header of a file. It is an error if the header is not that of the id in the file's name.
func headerIn(id string, f *keep.File) (*kept, error) {
	r := &kept{}
	d := json.NewDecoder(bytes.NewReader(f.Meta))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if r.ID != id || strings.HasPrefix(id, snapshotPrefix) != (r.Snapshot != nil) {
		return nil, fmt.Errorf("the file is that of %s; give it its name back", words.Quote(r.ID))
	}
	return r, nil
}

// changed returns the header of a sandbox's last save, and the file with its changes since base, or nil if there are
// none.
func (k *shelf) changed(base *kept, f *keep.File) (*kept, *keep.File, error) {
	name := base.ID + keep.Changes
	c, err := k.dir.Load(name)
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
		return base, nil, errors.Join(k.dir.Remove(name), c.Close())
	default:
		err = fmt.Errorf("the changes in %s are those of another file; put that in its place, or remove the changes", name)
	}
	return nil, nil, errors.Join(err, c.Close())
}

// restoreOne restores one sandbox or snapshot. After an error the caller must close the file.
func (k *shelf) restoreOne(id string, f *keep.File) error {
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
	if len(r.Chain) > 0 && k.e.opts.Ledger == nil {
		return words.Error("it belongs to a token, and there is no key to check it with; add " + words.Field("token_key"))
	}
	if len(r.Chain) > 0 {
		if no := k.e.leases.over(lease{chain: r.Chain, until: r.Until, sandbox: true}, time.Now()); no != nil {
			return errors.Join(no, k.dir.Remove(id))
		}
	}
	if r.Snapshot != nil {
		return k.e.addSnapshot(r, f)
	}
	if time.Since(r.Used) >= r.TTL {
		return errors.Join(errors.New("it has expired"), k.dir.Remove(id))
	}
	files, err := workspace.Read(f.Layer(), changes)
	if err != nil {
		return err
	}
	box, err := k.e.boxes.Create(r.Agent, workspace.CreateOptions{Size: r.Size, Inodes: r.Inodes, TTL: r.TTL,
		Chain: r.Chain, Until: r.Until, Account: r.Account, Extra: r.Mounts,
		Past: &workspace.Past{ID: r.ID, Created: r.Created, Used: r.Used}, Fill: files.Unpack})
	if err != nil {
		return err
	}
	s := k.of(box)
	s.changes, _ = box.Changed()
	s.at, s.count = r.Used, r.Save
	k.e.leaseSandbox(box)
	_ = k.e.record(about(audit.SandboxRestore, Caller{}, box)) // it was allowed before; the log counts missed events
	return f.Close()
}

// addSnapshot restores a snapshot. After an error the caller must close the file.
func (e *Engine) addSnapshot(r *kept, f *keep.File) error {
	hold, err := e.boxes.Hold(r.Account, f.Size())
	if err != nil {
		return err
	}
	s, err := newSnapshot(r, f, hold)
	if err != nil {
		hold.Release()
		return err
	}
	return e.publish(s, r)
}
