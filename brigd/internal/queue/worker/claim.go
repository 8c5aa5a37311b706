package worker

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
)

// errRaced means that another brigd has changed a record meanwhile.
var errRaced = errors.New("another brigd has changed the record")

// claims decide which message starts a run: those of a run may be several, and each may be delivered again.
type claims struct {
	keys *record.Keys
	runs jetstream.Stream
}

// starts reports whether the run is to be started. It can be cancelled already: no cancellation falls between. doubtful
// is whether the run may have ended before it was delivered for the first time.
func (c claims) starts(ctx context.Context, d *delivery, how *engine.Delivery, doubtful bool) (bool, error) {
	if d.run.Tracked {
		return c.claim(context.WithoutCancel(ctx), d, how)
	}
	if d.tries > 1 || doubtful {
		if r, _, err := c.keys.Head(ctx, record.ResultKey(d.run.ID)); err == nil && r != nil {
			return false, nil
		}
	}
	return true, nil
}

// claim records that this message starts the run. It returns false if it must not: the run has ended, or another
// message in the queue is the one that starts it. A message that was delivered before may start its run again.
func (c claims) claim(ctx context.Context, d *delivery, how *engine.Delivery) (start bool, err error) {
	err = retry.Do(ctx, retry.Patience, 0, func(ctx context.Context) (err error) {
		start, err = c.once(ctx, d, how)
		return err
	})
	return start, err
}

func (c claims) once(ctx context.Context, d *delivery, how *engine.Delivery) (start bool, err error) {
	key := record.AskedKey(d.run.ID)
	asked, revision, err := c.keys.Head(ctx, key)
	if err != nil {
		return false, err
	}
	if asked != nil && asked.Message != 0 && asked.Message != d.number {
		_, err := c.runs.GetMsg(ctx, asked.Message)
		if err == nil {
			d.double = true
			return false, nil
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, err
		}
	}
	// a result is stored before its message goes
	if done, _, err := c.keys.Head(ctx, record.ResultKey(d.run.ID)); err != nil || done != nil {
		return false, err
	}
	r := &record.Record{Owner: d.run.Owner, Digest: d.run.Digest, Counted: true, Running: how, Message: d.number}
	if asked == nil {
		_, err = c.keys.Create(ctx, key, r)
	} else {
		_, err = c.keys.Update(ctx, key, r, revision)
	}
	if record.Raced(err) {
		err = errRaced
	}
	return err == nil, err
}
