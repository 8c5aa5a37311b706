package engine

import (
	"context"
	"errors"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/tenants"
	"brig/changes"
	"brig/nsjail"
)

// keep stores what a run has changed in its cow mounts, and drops the rest of them.
func (k *changeSets) keep(ctx context.Context, c Caller, j *job.Job, r *nsjail.Result,
	begin time.Time) (list []ChangeSet) {
	if r == nil || len(r.Changes) == 0 {
		return nil
	}
	ctx, stop := lateEnd(ctx)
	defer stop()
	for i := range r.Changes {
		ch := &r.Changes[i]
		set, err := k.capture(ctx, c, j, r, ch, begin)
		if err = errors.Join(err, ch.Close()); err != nil {
			set = &ChangeSet{Share: j.Spec.Mounts[max(ch.Mount, 0)].Held.Name, Target: ch.Target,
				Error: k.shares.hide(err.Error())}
		}
		if set != nil {
			list = append(list, *set)
		}
	}
	return list
}

// keepGrace is what a run's changes may take to be kept after the end of its context: what a cancelled run has changed
// is kept as well, but a payload must not occupy brigd with what takes minutes to compare.
const keepGrace = 5 * time.Second

// lateEnd returns a context that ends keepGrace after ctx.
func lateEnd(ctx context.Context) (late context.Context, stop func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(keepGrace):
			cancel()
		case <-late.Done():
		}
	})
	return late, func() { unhook(); cancel() }
}

func (k *changeSets) capture(ctx context.Context, c Caller, j *job.Job, r *nsjail.Result, ch *nsjail.Change,
	begin time.Time) (*ChangeSet, error) {
	o := tenants.Owner{Agent: j.Agent, Chain: c.Grant.IDs(), Account: Caller{Agent: j.Agent, Grant: c.Grant}.Key()}
	store, done, err := k.tenants.Use(o, true)
	if err != nil {
		return nil, err
	}
	defer done()
	run := &changes.Run{Status: string(r.Status), ExitCode: r.ExitCode, Started: begin, Ended: time.Now(),
		Target: changes.Name(ch.Target)}
	for _, p := range j.Spec.ProtectedIn(ch.Mount) {
		run.Protect = append(run.Protect, changes.Name(p))
	}
	compared := time.Now()
	got, err := store.Capture(ctx, ch.Base, ch.Upper, ch.Source, run)
	if got == nil {
		return nil, err
	}
	took := time.Since(compared).Microseconds()
	full := ""
	if got.Full {
		full = "not all of the changes fit into the account's store"
	}
	set := got.Set
	if set == nil {
		if got.Left == 0 {
			return nil, err
		}
		share, path := k.shares.set.Containing(ch.Source)
		return &ChangeSet{Share: share, Path: path, Target: ch.Target, Created: run.Ended, Status: run.Status,
			LeftOut: got.Left, CaptureUS: took, Error: full}, err
	}
	v := audit.Event{Kind: audit.ChangesKeep, Run: j.ID, Agent: j.Agent, Token: j.Token, Sandbox: j.Sandbox,
		Path: ch.Target, Digest: set.ID, Bytes: set.Counts.Bytes, Count: int64(set.Counts.Files)}
	if no := k.log.record(v); no != nil {
		return nil, errors.Join(no, set.Discard(false))
	}
	// The set is kept, whatever becomes of older ones.
	if err = errors.Join(err, k.tenants.Trim(o.Account)); err != nil {
		k.failed(set.ID, "is kept, but not all that exceeds the bounds is removed", err)
	}
	one := k.changeSet(set)
	one.CaptureUS, one.Error = took, full
	return one, nil
}
