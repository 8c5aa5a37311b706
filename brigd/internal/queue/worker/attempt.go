package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/nsjail"
)

// handle performs one delivery: it runs the run, stores its result and acknowledges it, or leaves it to others. free
// frees its slot, when the run has ended: its result is stored while the next one goes on. At most one result per slot
// may be waiting to be stored.
func (w *Worker) handle(m *nats.Msg, free func()) {
	log := w.q.Options.Logger
	meta, err := m.Metadata()
	if err != nil {
		log.Error("a message of the queue cannot be read", "error", err)
		return
	}
	d := &delivery{m: m, number: meta.Sequence.Stream, stored: meta.Timestamp, tries: int(meta.NumDelivered)}
	defer beat(m, w.q.AckWait, log)()
	ctx := context.Background()
	if meta.NumDelivered > 1 {
		d.tries = triesOf(meta.NumDelivered, w.q.Keys.Left(ctx, d.number))
	}
	most := w.q.Options.MaxDeliver
	err = retry.Do(ctx, retry.Patience, record.SizeOf(m.Header), func(ctx context.Context) error {
		return d.read(ctx, w.q.Bodies)
	})
	if err != nil && (errors.Is(err, retry.ErrPermanent) || d.tries > most) {
		w.closing.unreadable(ctx, d, err)
		return
	} else if err != nil {
		log.Warn("a run cannot be read now, and will be delivered again", "error", err)
		return
	}
	d.line = line{nc: w.q.Conn, to: d.run.Reply, attempt: d.tries}
	if d.tries > 1 {
		w.counts.again.Add(1)
	}
	if d.tries > most {
		w.closing.bury(d, fmt.Sprintf("its workers were lost while it ran, or could not run it, %d times", most))
		return
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer w.going.add(d, cancel)()
	w.attempt(run, d, free)
}

// attempt waits for the run's turn, runs it, and stores the result. free frees its slot.
func (w *Worker) attempt(ctx context.Context, d *delivery, free func()) {
	release, err := w.o.Enter(ctx, cmp.Or(d.run.Caller, d.run.Owner.Agent))
	if err != nil {
		a := &engine.Response{ID: d.run.ID, Status: string(nsjail.StatusCancelled), ExitCode: -1}
		if no := front.AsRefusal(err); no != nil {
			a = record.Refused(d.run.ID, no)
		}
		if !w.leave(d, a) {
			if a.Error != nil {
				d.run.Refuse(w.q.Options.Record, a.Error)
			}
			w.closing.finish(d, a)
		}
		return
	}
	defer release()
	how := &engine.Delivery{Worker: w.q.Name(), Attempt: d.tries, Waited: milliseconds(w.q.Gauge.Waited(d.stored))}
	if start, err := w.claims.starts(ctx, d, how, w.q.Gauge.Doubtful(d.stored)); err != nil {
		w.q.Options.Logger.Warn("a run cannot be recorded, and will be delivered again", "run", d.run.ID, "error", err)
		return
	} else if !start {
		w.closing.late(d)
		return
	}
	a := w.run(ctx, d, release)
	release()
	if w.leave(d, a) {
		return
	}
	a.Queue = how
	w.endings <- struct{}{}
	defer func() { <-w.endings }()
	free()
	w.closing.finish(d, a)
}

// milliseconds returns a time in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// run runs the run. ended is called when its jail has ended.
func (w *Worker) run(ctx context.Context, d *delivery, ended func()) *engine.Response {
	c, no := w.o.caller(d.run.Agent, d.run.Token, d.run.Rules)
	if no != nil {
		return d.run.Refuse(w.q.Options.Record, no)
	}
	r := d.run.Request
	r.ID, r.Ended = d.run.ID, ended
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stream func(engine.Event)
	if d.run.Watch {
		send := func(e engine.Event) {
			if err := d.line.event(e); err != nil {
				cancel(fmt.Errorf("nobody takes the output: %w", err))
			}
		}
		if d.run.Stream {
			stream = send
		} else {
			r.Watch = send
		}
	}
	a := w.o.Runner.Run(ctx, c, &r, stream)
	a.ID = d.run.ID
	return a
}

// leave leaves the run to another attempt, or buries it, if this worker could not run it. It returns false if the
// response is the run's result.
func (w *Worker) leave(d *delivery, a *engine.Response) bool {
	end := endOf(a, w.life.killed.Load(), d.tries, w.q.Options.MaxDeliver)
	if end == lacking || end == hopeless {
		w.ready.rest()
	}
	switch end {
	case killed:
		w.closing.giveBack(d, 0)
	case lacking:
		w.closing.giveBack(d, shortPause)
	case hopeless:
		w.closing.bury(d, "no worker could run it: "+a.Error.Message)
	case finished:
		return false
	}
	return true
}
