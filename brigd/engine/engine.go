package engine

import (
	"errors"
	"fmt"

	"brig/brigd/freezer"
	"brig/brigd/internal/diffs"
	"brig/brigd/job"
	"brig/brigd/lease"
)

// Engine runs requests. It is the list of its services: each has the methods for one subject. They may be called from
// several goroutines.
type Engine struct {
	*runs
	*sandboxes
	*files
	fileTools
	*snapshots
	*changeSets
	*shares
	*images
	*languages
	*access
	*parking
	*needs
	*processes
	*ports

	opened *opened
	leases *lease.Leases
	boxes  *boxes
	shelf  *shelf // nil without a store
}

// New returns an Engine. The caller must call Close, and closes the Ledger and the Log afterwards.
func New(o Options) (*Engine, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	a := &access{o.Policies, newGrants(o.TokenKeys, o.Ledger)}
	p, err := open(&o, a)
	if err != nil {
		return nil, err
	}
	var k *shelf
	if o.Store != "" {
		if k, err = openShelf(o.Store, o.SaveEvery, o.StoreFailed); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	e := assemble(&o, a, p, k)
	if k != nil {
		back := &restorer{shelf: k, boxes: e.boxes, snaps: e.snapshots, leases: e.leases, log: e.files.log}
		if err := back.restore(); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrStore, err), e.Close())
		}
		k.start(e.boxes.List)
	}
	return e, nil
}

// assemble makes the services, each after those that it uses.
func assemble(o *Options, a *access, p *opened, k *shelf) *Engine {
	log := NewRecorder(o.Audit)
	l := lease.New(o.Ledger)
	jails := job.On(p.runner)
	d := &defaults{o.Base, o.Timeout, o.MaxTimeout, o.Memory, o.MaxOutput}
	all := &lives{idle: o.BoxIdle}
	b := newBoxes(o.Sandboxes, l, k, all, log, p.volume)
	in := &freezer.Freezer{}
	e := &Engine{access: a, images: p.images, opened: p, leases: l, boxes: b, shelf: k}
	e.shares = &shares{set: p.shares, access: a}
	if p.tenants != nil {
		e.shares.kept = p.tenants.Dir()
	}
	e.languages = &languages{p.langs, o.Interpreters, p.images, p.shares, p.runner, jails}
	e.changeSets = &changeSets{p.tenants, e.shares, a, log, diffs.New(), o.AllowApply, o.StoreFailed}
	e.files = &files{b, a, log}
	e.fileTools = fileTools{e.files}
	e.snapshots = newSnapshots(o.Pool, k, b, l, in, a, log, o.StoreFailed)
	e.needs = &needs{d, a.policies, e.shares}
	q := &requests{d, a, e.images, e.languages}
	e.parking = &parking{warm: o.Warm, runner: p.runner, jails: jails, languages: e.languages, requests: q,
		failed: o.WarmFailed}
	e.runs = &runs{requests: q, grants: a.grants, boxes: b, shares: e.shares, leases: l, files: e.files,
		changes: e.changeSets, freezer: in, parking: e.parking, jails: jails, jailer: p.runner, lives: all,
		chain: o.chain(jails), failed: o.JailFailed}
	e.sandboxes = &sandboxes{b, o.Sandboxes, a, e.shares, e.snapshots, e.files, k, log, all, e.runs.live}
	e.processes = &processes{e.runs, b, all, a}
	e.ports = &ports{e.processes, l, log}
	return e
}

// Close ends all runs, deletes all sandboxes and closes the Runner.
func (e *Engine) Close() error {
	e.leases.Close()
	e.shelf.stop()
	err := errors.Join(e.boxes.Close(), e.snapshots.catalog.close(), e.shelf.close(), e.opened.close())
	e.parking.changes.Wait()
	return err
}
