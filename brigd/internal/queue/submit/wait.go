package submit

import (
	"context"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/wire"
	"brig/nsjail"
)

// await returns the result of a run, or the cause of ctx. The result is also looked for in the bucket: the message with
// it may be lost with a connection.
func (f *Front) await(ctx context.Context, id string, w *waiter) (*engine.Response, error) {
	look := time.Second
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case m := <-w.in:
			if m.result != nil {
				return m.result, nil
			}
			if a := w.take(m.Msg); a != nil {
				return a, nil
			}
			if m.Header.Get(wire.Done) != "" {
				timer.Reset(0)
			}
		case <-timer.C:
			r, revision, err := f.q.Keys.Head(ctx, record.ResultKey(id))
			if err == nil && r != nil {
				err = f.q.Results.Load(ctx, r)
			}
			if err == nil && r != nil && r.Result != nil {
				w.revision, w.object = revision, r.Object
				if w.only && r.Result.Status != string(nsjail.StatusCancelled) && r.Result.Error == nil {
					return record.Refused(id, broken), nil // it has no output, which was sent as events
				}
				return r.Result, nil
			}
			look = min(2*look, 15*time.Second)
			timer.Reset(look)
		}
	}
}
