package engine

import (
	"context"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/lease"
	"brig/brigd/workspace"
)

// boxes is the table of sandboxes: who may use one, and what ends with one.
type boxes struct {
	*workspace.Store
	leases *lease.Leases
	shelf  *shelf // nil without a store
	lives  *lives
	log    *Recorder
	told   func(box *workspace.Sandbox, by string, err error) // may be nil
}

// newBoxes returns an empty table. Its sandboxes are in volumes that volume makes.
func newBoxes(o workspace.StoreOptions, l *lease.Leases, k *shelf, lives *lives, log *Recorder,
	volume func(size, inodes int64) (workspace.Volume, error)) *boxes {
	b := &boxes{leases: l, shelf: k, lives: lives, log: log, told: o.Removed}
	o.Make, o.Removed, o.Closing = volume, b.removed, nil
	if k != nil {
		o.Closing = k.save
	}
	b.Store = workspace.NewStore(o)
	return b
}

// find returns a sandbox that the caller may use; any other is reported as unknown. A sandbox belongs to an agent, and
// to the token with which it was created. The holder of that token, or of one from which it was derived, may use it.
// The holder of a narrower token may not: files written with it would be used with permissions that the token lacks. A
// caller that names no agent may act for any agent.
func (b *boxes) find(c Caller, id string) (*workspace.Sandbox, *job.Refusal) {
	box, err := b.Get(c.agent(), id)
	if err == nil && !c.Grant.Covers(box.Chain) {
		_, err = b.Get("-", id) // no agent has this name, so the error is that for an unknown id
	}
	if err != nil {
		return nil, asRefusal(err, "sandbox", "sandbox_unknown")
	}
	return box, nil
}

// enter acquires a Job's sandbox by one of its methods. If it is deleted, the context that enter returns is cancelled.
func (b *boxes) enter(ctx context.Context, c Caller, j *job.Job,
	acquire func(*workspace.Sandbox, context.Context) (context.Context, func(), error)) (
	run context.Context, box *workspace.Sandbox, release func(), no *job.Refusal) {
	if box, no = b.find(c, j.Sandbox); no != nil {
		return ctx, nil, nil, no
	}
	j.Agent = box.Agent
	run, release, err := acquire(box, ctx)
	if err != nil {
		return ctx, nil, nil, asRefusal(err, "sandbox", "sandbox_unknown")
	}
	return run, box, release, nil
}

// lease makes a sandbox end with the token that created it.
func (b *boxes) lease(box *workspace.Sandbox) {
	b.leases.Keep(box.ID, box.Chain, box.Until, func(why *job.Refusal) {
		v := about(audit.SandboxDelete, Caller{}, box)
		v.Token, v.Note = box.Chain[len(box.Chain)-1], why.Code
		_ = b.log.record(v)             // the sandbox ends even if this fails; the log counts missed events
		_ = b.Delete(box.Agent, box.ID) // it may be gone already; other errors go to StoreOptions.Removed
	})
}

// removed is called by the Store for each sandbox that has ended.
func (b *boxes) removed(box *workspace.Sandbox, by string, err error) {
	b.leases.Drop(box.ID)
	b.lives.all.Delete(box.ID)
	if b.shelf != nil && by != workspace.Closed {
		b.shelf.remove(box)
	}
	if by == workspace.Expired {
		v := about(audit.SandboxDelete, Caller{}, box)
		v.Note = "expired: nothing has used it for " + box.TTL.String()
		_ = b.log.record(v) // the sandbox is gone; the log counts missed events
	}
	if b.told != nil {
		b.told(box, by, err)
	}
}
