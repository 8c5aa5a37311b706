package queue

import (
	"context"

	"brig/brigd/engine"
)

// unseen is how many runs other brigds may have put into the queue that this one has not heard of.
const unseen = 64

// room checks whether the tenant may have one more run in the queue, in all classes together: the server bounds those
// of one class only. The server is asked if there may be as many. From then on the tenant's runs are put there one
// after the other, until end. The response is a refusal.
func (p *posting) room(ctx context.Context) (end func(), a *engine.Response) {
	if a := p.roomForBody(ctx); a != nil {
		return nil, a
	}
	most := p.o.QueuedPerTenant
	if n, known := p.rates.most(); most == 0 || known && n+unseen < most {
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
