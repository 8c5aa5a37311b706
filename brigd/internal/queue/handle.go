package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/job"
	"brig/nsjail"
)

// delivery is a run that a worker has taken.
type delivery struct {
	*Worker
	m      *nats.Msg
	number uint64 // of the message
	tries  int    // this one included
	j      queued
	double bool // another message starts the run
	seq    int  // of the next message to the Front
	owed   int  // events since the Front's last answer
	bytes  int
}

// handle performs one delivery: it runs the run, stores its result and acknowledges it, or leaves it to others. free
// frees its slot, when the run has ended: its result is stored while the next one goes on. At most one result per slot
// may be waiting to be stored.
func (w *Worker) handle(m *nats.Msg, free func()) {
	meta, err := m.Metadata()
	if err != nil {
		w.Queue.o.Logger.Error("a message of the queue cannot be read", "error", err)
		return
	}
	d := &delivery{Worker: w, m: m, number: meta.Sequence.Stream, tries: int(meta.NumDelivered)}
	defer d.beat()()
	ctx := context.Background()
	if d.tries > 1 {
		d.tries -= min(d.tries-1, int(w.left(ctx, d.number)))
	}
	most := w.Queue.o.MaxDeliver
	size, _ := strconv.Atoi(m.Header.Get(sizeHeader)) // 0 if there is no object
	if err := trying(ctx, patience, size, d.open); err != nil && (errors.Is(err, errPermanent) || d.tries > most) {
		d.unreadable(ctx, meta.Sequence.Stream, err)
		return
	} else if err != nil {
		w.Queue.o.Logger.Warn("a run cannot be read now, and will be delivered again", "error", err)
		return
	}
	if d.tries > 1 {
		w.again.Add(1)
	}
	if d.tries > most {
		d.bury(fmt.Sprintf("its workers were lost while it ran, or could not run it, %d times", most))
		return
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	w.running[d] = cancel
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.running, d)
		w.mu.Unlock()
	}()
	d.attempt(run, meta.Timestamp, free)
}

// attempt waits for the run's turn, runs it, and stores the result. free frees its slot.
func (d *delivery) attempt(ctx context.Context, stored time.Time, free func()) {
	release, err := d.Worker.o.Enter(ctx, cmp.Or(d.j.Caller, d.j.Owner.Agent))
	if err != nil {
		a := &engine.Response{ID: d.j.ID, Status: string(nsjail.StatusCancelled), ExitCode: -1}
		if no := front.AsRefusal(err); no != nil {
			a = refused(d.j.ID, no)
		}
		if !d.leave(a) {
			if a.Error != nil {
				d.j.refuse(d.Queue.o.Record, a.Error)
			}
			d.finish(a)
		}
		return
	}
	defer release()
	how := &engine.Delivery{Worker: d.Name(), Attempt: d.tries, Waited: milliseconds(d.waited(stored))}
	if start, err := d.starts(ctx, how, stored); err != nil {
		d.Queue.o.Logger.Warn("a run cannot be recorded, and will be delivered again", "run", d.j.ID, "error", err)
		return
	} else if !start {
		d.late.Add(1)
		d.acknowledge()
		return
	}
	a := d.run(ctx, release)
	release()
	if d.leave(a) {
		return
	}
	a.Queue = how
	d.endings <- struct{}{}
	defer func() { <-d.endings }()
	free()
	d.finish(a)
}

const (
	// patience bounds the retries of a server call that a delivery depends on. The server then delivers the run again.
	patience = 4 * soon
	// always is longer than any outage: what must not be lost is tried until the worker ends.
	always = 30 * 24 * time.Hour
)

// milliseconds returns a time in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// open reads the run.
func (d *delivery) open(ctx context.Context) error {
	body, err := d.unpack(ctx, d.m.Header, d.m.Data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &d.j); err != nil {
		return fmt.Errorf("%w: %w", errPermanent, err)
	}
	if !front.ID.MatchString(d.j.ID) {
		return fmt.Errorf("%w: its id is none", errPermanent)
	}
	return nil
}

// beat tells the server that the run goes on, three times in each wait for an acknowledgement.
func (d *delivery) beat() (stop func()) {
	ended := make(chan struct{})
	first := time.AfterFunc(d.ackWait/3, func() { // most runs are shorter, and need no goroutine
		tick := time.NewTicker(d.ackWait / 3)
		defer tick.Stop()
		for {
			if err := d.m.InProgress(); err != nil {
				d.Queue.o.Logger.Debug("the queue does not learn that a run goes on", "error", err)
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() { first.Stop(); close(ended) }
}

// caller returns who has asked for a run. A token is verified again: it may have been revoked meanwhile.
func (o *WorkerOptions) caller(agent, token string, rules []byte) (c engine.Caller, no *job.Refusal) {
	c = engine.Caller{Agent: agent, Counted: true}
	if c.Rules, no = o.Book.read(rules); no != nil {
		return c, no
	}
	if token == "" {
		if o.RequireToken {
			return c, &job.Refusal{Code: "token_required", Layer: "token",
				Message:   "the worker runs nothing without a capability token, and the run has none",
				NextSteps: []string{"send a token with the request"}}
		}
		return c, nil
	}
	of, no := o.Runner.Authenticate(token, time.Now())
	if no != nil {
		return c, no
	}
	if of.Agent != "" && agent != "" && of.Agent != agent {
		return c, &job.Refusal{Code: "agent_mismatch", Layer: "auth",
			Message: "the run is of another agent than its token"}
	}
	if c.Grant = of.Grant; of.Agent != "" {
		c.Agent = of.Agent
	}
	return c, nil
}

// run runs the run. ended is called when its jail has ended.
func (d *delivery) run(ctx context.Context, ended func()) *engine.Response {
	c, no := d.Worker.o.caller(d.j.Agent, d.j.Token, d.j.Rules)
	if no != nil {
		return d.j.refuse(d.Queue.o.Record, no)
	}
	r := d.j.Request
	r.ID, r.Ended = d.j.ID, ended
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stream func(engine.Event)
	if d.j.Watch {
		send := func(e engine.Event) {
			if err := d.event(e); err != nil {
				cancel(fmt.Errorf("nobody takes the output: %w", err))
			}
		}
		if d.j.Stream {
			stream = send
		} else {
			r.Watch = send
		}
	}
	a := d.Worker.o.Runner.Run(ctx, c, &r, stream)
	a.ID = d.j.ID
	return a
}

// passing are codes of refusals that another attempt may not meet: it is the worker that lacks something.
var passing = map[string]bool{"machine_full": true, "audit_unavailable": true, "token_ledger": true, "draining": true}

// shortPause is how long a worker takes no runs after it could not run one.
const shortPause = 2 * time.Second

// leave leaves the run to another attempt, or buries it, if this worker could not run it. It returns false if the
// response is the run's result.
func (d *delivery) leave(a *engine.Response) bool {
	if d.killed.Load() && a.Status == string(nsjail.StatusCancelled) {
		d.nak(0)
		return true
	}
	if a.Error == nil || !passing[a.Error.Code] && a.Error.Rule != "launcher" {
		return false
	}
	d.mu.Lock()
	d.pause = time.Now().Add(shortPause)
	d.mu.Unlock()
	if d.tries >= d.Queue.o.MaxDeliver {
		d.bury("no worker could run it: " + a.Error.Message)
		return true
	}
	d.nak(shortPause)
	return true
}

// nak returns the run to the queue. If that fails, the server delivers it again when its wait ends.
func (d *delivery) nak(after time.Duration) {
	if err := d.m.NakWithDelay(after); err != nil {
		d.Queue.o.Logger.Debug("a run is not given back at once", "run", d.j.ID, "error", err)
	}
}

// finish stores the result, tells the Front and acknowledges the run. It goes on until the server takes the result. One
// that only a caller of this process may have is not stored: with the process, both would be gone.
func (d *delivery) finish(a *engine.Response) {
	r := &record{owner: d.j.Owner, Digest: d.j.Digest, Result: a}
	if f := d.front.Load(); f != nil && !d.j.Tracked && !d.j.Watch && f.hand(d.j.ID, a) {
		if d.m.AckSync(nats.AckWait(soon)) == nil {
			d.tidy()
			return
		}
		r = &record{} // it may be delivered again, and must not start
	}
	ctx, end := d.lasting()
	defer end()
	revision, err := d.store(ctx, always, d.j.ID, r)
	if err != nil {
		d.Queue.o.Logger.Error("a result is not stored, and the run will be delivered again", "run", d.j.ID, "error", err)
		return
	}
	if revision != 0 && d.j.Tracked {
		text, _ := json.Marshal(r) // store has done it
		d.keep(tenantOf(d.m.Subject), keptResult{d.j.ID, int64(len(text)), revision})
	}
	if revision == 0 {
		d.late.Add(1)
	} else if d.j.Reply != "" {
		d.tell(a, revision)
	}
	d.acknowledge()
}

// acknowledge removes the run from the queue. If the server does not learn that, the run is delivered again, and its
// result found.
func (d *delivery) acknowledge() {
	if err := d.m.Ack(); err != nil {
		d.Queue.o.Logger.Warn("a run that has ended is not acknowledged", "run", d.j.ID, "error", err)
		return
	}
	d.tidy()
}

// tidy removes the object of a run that has left the queue. Another message of the run needs it.
func (d *delivery) tidy() {
	if name := d.m.Header.Get(objectHeader); name != "" && !d.double {
		d.drop(context.Background(), d.files, name)
	}
}
