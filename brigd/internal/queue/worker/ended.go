package worker

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/dead"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
	"brig/nsjail"
)

// end is what becomes of a run whose attempt has a response.
type end int

const (
	finished end = iota // the response is its result
	killed              // another worker shall run it, since this one ends
	lacking             // another attempt may run it, since this worker lacks something
	hopeless            // no worker could run it
)

// passing are codes of refusals that another attempt may not meet: it is the worker that lacks something.
var passing = map[string]bool{"machine_full": true, "audit_unavailable": true, "token_ledger": true, "draining": true}

// endOf returns what becomes of a run after so many attempts, of which there may be most. ends is whether the worker
// cancels its runs to end.
func endOf(a *engine.Response, ends bool, tries, most int) end {
	switch {
	case ends && a.Status == string(nsjail.StatusCancelled):
		return killed
	case a.Error == nil || !passing[a.Error.Code] && a.Error.Rule != "launcher":
		return finished
	case tries >= most:
		return hopeless
	}
	return lacking
}

// closing stores what runs end with, and takes them out of the queue.
type closing struct {
	results *record.Results
	bodies  *record.Bodies
	bounds  *record.Bounds
	local   *queue.Local
	dead    *dead.Runs
	life    *life
	counts  *counts
	audit   *engine.Recorder
	log     *slog.Logger
}

func newClosing(q *queue.Queue, l *life, n *counts) *closing {
	return &closing{q.Results, q.Bodies, q.Bounds, &q.Local, dead.New(q), l, n, q.Options.Record, q.Options.Logger}
}

// finish stores the result, tells the front and acknowledges the run. It goes on until the server takes the result. One
// that only a caller of this process may have is not stored: with the process, both would be gone.
func (c *closing) finish(d *delivery, a *engine.Response) {
	r := &record.Record{Owner: d.run.Owner, Digest: d.run.Digest, Result: a}
	if !d.run.Tracked && !d.run.Watch && c.local.Hand(d.run.ID, a) {
		if d.m.AckSync(nats.AckWait(retry.Soon)) == nil {
			c.tidy(d)
			return
		}
		r = &record.Record{} // it may be delivered again, and must not start
	}
	ctx, end := c.life.lasting()
	defer end()
	revision, err := c.results.Store(ctx, retry.Always, d.run.ID, r)
	if err != nil {
		c.log.Error("a result is not stored, and the run will be delivered again", "run", d.run.ID, "error", err)
		return
	}
	if revision != 0 && d.run.Tracked {
		c.results.Keep(wire.TenantOf(d.m.Subject), d.run.ID, r, revision)
	}
	if revision == 0 {
		c.counts.late.Add(1)
	} else if d.run.Reply != "" {
		d.line.tell(a, revision, c.bounds, c.log)
	}
	c.acknowledge(d)
}

// bury abandons the run: it is kept with the reason, its caller gets a refusal, and it leaves the queue.
func (c *closing) bury(d *delivery, reason string) {
	id := d.run.ID
	ctx, end := c.life.lasting()
	defer end()
	if err := c.dead.Add(ctx, id, d.m, reason); err != nil {
		c.log.Error("a run is not given up, and will be delivered again", "run", id, "error", err)
		return
	}
	c.counts.dead.Add(1)
	c.log.Error("a run is given up", "run", id, "reason", reason)
	c.finish(d, d.run.Refuse(c.audit, &job.Refusal{Code: wire.GivenUp, Layer: "queue", Message: reason,
		NextSteps: []string{"look for what it does to the machine that runs it", "brigd queue requeue " + id +
			" lets it run again"}}))
}

// unreadable abandons a run that cannot be read. Its id is in the name of its object, or is made from the number of its
// message. Its owner is in the record of its submission, if there is one.
func (c *closing) unreadable(ctx context.Context, d *delivery, why error) {
	id := record.IDOf(d.m.Header)
	if d.run = (record.Run{ID: id}); id == "" {
		d.run.ID = "unreadable-" + strconv.FormatUint(d.number, 10)
		c.bury(d, why.Error())
		return
	}
	var done *record.Record
	err := retry.Do(ctx, retry.Patience, 0, func(ctx context.Context) (err error) {
		asked, _, err := c.results.Head(ctx, record.AskedKey(id))
		if asked != nil {
			d.run.Owner = asked.Owner
		}
		if err == nil {
			done, _, err = c.results.Head(ctx, record.ResultKey(id))
		}
		return err
	})
	switch {
	case err != nil:
		c.log.Warn("a run that cannot be read is not given up yet", "run", id, "error", err)
	case done != nil: // another worker has ended it, and removed its object
		c.late(d)
	default:
		c.bury(d, why.Error())
	}
}

// late takes a run out of the queue that has ended elsewhere.
func (c *closing) late(d *delivery) {
	c.counts.late.Add(1)
	c.acknowledge(d)
}

// giveBack returns the run to the queue. If that fails, the server delivers it again when its wait ends.
func (c *closing) giveBack(d *delivery, after time.Duration) {
	if err := d.m.NakWithDelay(after); err != nil {
		c.log.Debug("a run is not given back at once", "run", d.run.ID, "error", err)
	}
}

// acknowledge removes the run from the queue. If the server does not learn that, the run is delivered again, and its
// result found.
func (c *closing) acknowledge(d *delivery) {
	if err := d.m.Ack(); err != nil {
		c.log.Warn("a run that has ended is not acknowledged", "run", d.run.ID, "error", err)
		return
	}
	c.tidy(d)
}

// tidy removes the object of a run that has left the queue. Another message of the run needs it.
func (c *closing) tidy(d *delivery) {
	if !d.double {
		c.bodies.Drop(context.Background(), d.m.Header)
	}
}
