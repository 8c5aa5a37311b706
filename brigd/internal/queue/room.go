package queue

import (
	"context"
	"time"

	"brig/brigd/engine"
)

// unseen is how many runs other brigds may have put into the queue that this one has not heard of.
const unseen = 64

// fresh is the age from which the length of a queue that may be full is looked at again before its next sample.
const fresh = 200 * time.Millisecond

// room checks whether the tenant may have one more run in the queue, in all classes together: the server bounds those
// of one class only. The server is asked how many there are if there may be as many, and for the tenant's own if there
// are. From then on the tenant's runs are put there one after the other, until end. The response is a refusal.
func (p *posting) room(ctx context.Context) (end func(), a *engine.Response) {
	if a := p.roomForBody(ctx); a != nil {
		return nil, a
	}
	most := p.o.QueuedPerTenant
	if most == 0 || p.below(ctx, most) {
		return func() {}, nil
	}
	tenant := digest(p.c.Key())
	end, err := p.filling.take(ctx, tenant)
	if err != nil {
		return nil, p.refuse(unavailable(err))
	}
	has := uint64(0)
	err = trying(ctx, startTime, 0, func(ctx context.Context) error {
		counts, err := p.Queue.count(ctx, "*.*."+tenant)
		has = 0
		for _, n := range counts {
			has += n
		}
		return err
	})
	switch {
	case err != nil:
		a = p.refuse(unavailable(err))
	case has >= uint64(most):
		a = p.full(ctx)
	default:
		return end, nil
	}
	end()
	return nil, a
}

// below reports whether the whole queue has certainly fewer runs than that. What is known of it grows with each run
// that comes until the next look, also while as many leave it: a look for one is a look for all who ask meanwhile.
func (p *posting) below(ctx context.Context, most int) bool {
	few := func() bool {
		n, known := p.rates.most()
		return known && n+unseen < most
	}
	if few() {
		return true
	}
	end, err := p.sampling.take(ctx, "")
	if err != nil {
		return false
	}
	defer end()
	if !few() && p.rates.older(fresh) {
		p.sample(ctx)
	}
	return few()
}

// roomForBody checks whether a large body may be stored: one tenant has a quarter of the room for those.
func (p *posting) roomForBody(ctx context.Context) (a *engine.Response) {
	if p.fits(p.body) {
		return nil
	}
	has, err := p.waitingBytes(ctx, digest(p.c.Key()))
	switch {
	case err != nil:
		return p.refuse(unavailable(err))
	case has+int64(len(p.body)) > p.o.bytesOfTenant():
		return p.full(ctx)
	}
	return nil
}
