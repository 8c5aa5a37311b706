package submit

import (
	"context"
	"time"

	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/retry"
)

// unseen is how many runs other brigds may have put into the queue that this one has not heard of.
const unseen = 64

// fresh is the age from which the length of a queue that may be full is looked at again before its next sample.
const fresh = 200 * time.Millisecond

// room bounds how many runs of one tenant are in the queue, in all classes together: the server bounds those of one
// class only.
type room struct {
	q        *queue.Queue
	filling  turns // by tenant
	sampling turns // of one
}

func newRoom(q *queue.Queue) room { return room{q, newTurns(), newTurns()} }

// take takes room for one more run of a tenant's, until end; ok reports whether there is. The server is asked how many
// there are if there may be as many as the tenant may have, and for the tenant's own if there are. From then on the
// tenant's runs are put there one after the other.
func (r *room) take(ctx context.Context, tenant string) (end func(), ok bool, err error) {
	most := r.q.Options.QueuedPerTenant
	if most == 0 || r.below(ctx, most) {
		return func() {}, true, nil
	}
	if end, err = r.filling.take(ctx, tenant); err != nil {
		return nil, false, err
	}
	has := uint64(0)
	err = retry.Do(ctx, retry.Start, 0, func(ctx context.Context) error {
		counts, err := r.q.Count(ctx, "*.*."+tenant)
		has = 0
		for _, n := range counts {
			has += n
		}
		return err
	})
	if err != nil || has >= uint64(most) {
		end()
		return nil, false, err
	}
	return end, true, nil
}

// below reports whether the whole queue has certainly fewer runs than that. What is known of it grows with each run
// that comes until the next look, also while as many leave it: a look for one is a look for all who ask meanwhile.
func (r *room) below(ctx context.Context, most int) bool {
	few := func() bool {
		n, known := r.q.Gauge.Most()
		return known && n+unseen < most
	}
	if few() {
		return true
	}
	end, err := r.sampling.take(ctx, "")
	if err != nil {
		return false
	}
	defer end()
	if !few() && r.q.Gauge.Older(fresh) {
		r.q.Gauge.Sample(ctx, r.q.Runs)
	}
	return few()
}
