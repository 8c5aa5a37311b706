package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
)

// errRaced means that another brigd has changed a record meanwhile.
var errRaced = errors.New("another brigd has changed the record")

func raced(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// starts reports whether the run is to be started. It can be cancelled already: no cancellation falls between.
func (d *delivery) starts(ctx context.Context, how *engine.Delivery, stored time.Time) (bool, error) {
	if d.j.Tracked {
		return d.claim(context.WithoutCancel(ctx), how)
	}
	if d.tries > 1 || d.doubtful(stored) {
		if r, _, err := d.head(ctx, "r."+d.j.ID); err == nil && r != nil {
			return false, nil
		}
	}
	return true, nil
}

// claim records that this message starts the run. It returns false if it must not: the run has ended, or another
// message in the queue is the one that starts it. A message that was delivered before may start its run again.
func (d *delivery) claim(ctx context.Context, how *engine.Delivery) (start bool, err error) {
	err = trying(ctx, patience, 0, func(ctx context.Context) (err error) {
		start, err = d.claimOnce(ctx, how)
		return err
	})
	return start, err
}

func (d *delivery) claimOnce(ctx context.Context, how *engine.Delivery) (start bool, err error) {
	key := "q." + d.j.ID
	asked, revision, err := d.head(ctx, key)
	if err != nil {
		return false, err
	}
	if asked != nil && asked.Message != 0 && asked.Message != d.number {
		_, err := d.runs.GetMsg(ctx, asked.Message)
		if err == nil {
			d.double = true
			return false, nil
		} else if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, err
		}
	}
	if done, _, err := d.head(ctx, "r."+d.j.ID); err != nil || done != nil { // a result is stored before its message goes
		return false, err
	}
	r := &record{owner: d.j.Owner, Digest: d.j.Digest, Counted: true, Running: how, Message: d.number}
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if asked == nil {
		_, err = d.results.Create(ctx, key, text)
	} else {
		_, err = d.results.Update(ctx, key, text, revision)
	}
	if raced(err) {
		err = errRaced
	}
	return err == nil, err
}
