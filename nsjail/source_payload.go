package nsjail

import (
	"context"
	"slices"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// parkedPayload takes payloads that are started already and wait for a handover.
type parkedPayload struct{ pools *payloadPools }

// take hands the run over to a parked payload. The clocks and the limits' counts begin here. Result.Usage counts what
// the payload has used before, too, and so does RLIMIT_CPU.
func (s parkedPayload) take(ctx context.Context, a *attempt) (*running, error) {
	if a.handover == nil || s.pools.root == nil || !a.held.streams.CanTake() {
		return nil, nil
	}
	like := *a.spec
	like.Args, like.Env, like.Mounts = a.handover.Args, a.handover.Env, a.handover.Mounts
	key := payloadKey(&like)
	y := s.pools.find(&key)
	if y == nil {
		return nil, nil
	}
	k, err := kindOf(&like)
	if err != nil { // the source that is asked next returns the error
		return nil, nil
	}
	for {
		p := y.Take()
		if p == nil {
			return nil, nil
		}
		if a.plan = s.planFor(ctx, a, p, &like, k); a.plan != nil && p.waits() {
			return a.become(ctx, p)
		}
		s.pools.root.ending.Go(func() { _ = p.discard() }) // no caller waits for the error
	}
}

// planFor returns the plan of a parked payload for a Spec with other limits of the keeper, or nil if the payload no
// longer has what a new one would have: the same files of the host, filter and environment.
func (s parkedPayload) planFor(ctx context.Context, a *attempt, p *running, like *spec.Spec, k *kind) *plan.Plan {
	if !p.from.fits(k) {
		return nil
	}
	env, term, err := host.LookEnv(like)
	if err != nil || !slices.Equal(host.BuildEnv(like, env, term), p.plan.Env) {
		return nil
	}
	if like.Rootfs.Path != "" {
		now, err := p.from.run(ctx, a.setUpEnd(), like, s.pools.root.mounts.Changes())
		if err != nil {
			return nil
		}
		defer now.Close() // its descriptors were open for reading metadata only
		if !p.from.sameSources(now) {
			return nil
		}
	}
	return p.plan.For(like)
}

// become takes over what the keeper holds for a parked payload, and hands the run over to it.
func (a *attempt) become(ctx context.Context, p *running) (*running, error) {
	if a.wantDigest {
		a.digest = p.digest
	}
	for m := momentLooked; m <= momentSpawned; m++ {
		a.times.mark(m)
	}
	a.held.streams.Take(&p.held.streams, a.handover.Data)
	r := a.running(&p.jail, true)
	r.taken = true
	err := a.jails.add(r)
	if err == nil {
		err = r.watch.watchOOM()
	}
	if err != nil {
		return nil, r.undo(err)
	}
	if l := &a.spec.Limits; r.group != nil && (l.CPUTime > 0 || l.CPUs > 0 || l.Processes > 0 || l.MemoryHigh > 0) {
		r.watch.before = r.group.Read()
	}
	r.watch.start(ctx, r.times[momentPrepared])
	r.runs()
	return r, nil
}
