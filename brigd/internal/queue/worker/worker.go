// Package worker takes runs from the queue and runs them. A run that was delivered (delivery) is attempted, goes on,
// and ends: its result is stored, or it is left to another attempt, or it is given up (closing).
package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
)

// Runner is what a worker runs with: the engine of a brigd.
type Runner interface {
	Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response
	Authenticate(bearer string, now time.Time) (engine.Caller, *job.Refusal)
	Languages() []engine.Language
}

// Options are what a Worker is made of.
type Options struct {
	Runner Runner
	// Slots is how many runs are taken at once. Enter waits for the turn of one of them, and release ends it.
	Slots int
	Enter func(ctx context.Context, caller string) (release func(), err error)
	// Book reads what fronts demand.
	Book *RuleBook
	// Share is how many of the slots one tenant may have; 0 is no bound.
	Share int
	// RequireToken refuses runs that come without a capability token.
	RequireToken bool
	// Short returns why no run is to be taken at present, or "".
	Short func() string
}

// Worker takes runs from the queue and runs them.
type Worker struct {
	q       *queue.Queue
	o       Options
	slots   chan struct{}  // has a value for each run that goes on
	endings chan struct{}  // and one for each run whose result is being stored
	idle    chan *nats.Msg // to goroutines that wait for a delivery

	board   *lane.Board
	puller  *puller
	ears    ears
	ready   ready
	life    *life
	claims  claims
	going   going
	closing *closing
	counts  *counts

	languages atomic.Pointer[[]engine.Language] // to find them takes a second or more
}

// counts are for metrics.
type counts struct{ taken, again, dead, late atomic.Int64 }

// Counts returns how many runs were taken, taken after another worker had begun, given up, and ended after another
// worker had stored a result.
func (w *Worker) Counts() (taken, again, dead, late int64) {
	n := w.counts
	return n.taken.Load(), n.again.Load(), n.dead.Load(), n.late.Load()
}

// newWorker returns a worker that takes nothing yet.
func newWorker(q *queue.Queue, o Options) *Worker {
	w := &Worker{q: q, o: o, slots: make(chan struct{}, o.Slots), endings: make(chan struct{}, o.Slots),
		idle: make(chan *nats.Msg), board: lane.NewBoard(o.Slots, o.Share), life: newLife(),
		claims: claims{q.Keys, q.Runs}, counts: &counts{}}
	w.ready = ready{look: o.Short, log: q.Options.Logger}
	w.ears = ears{nc: q.Conn, board: w.board}
	w.closing = newClosing(q, w.life, w.counts)
	return w
}

// Start begins to take runs.
func Start(q *queue.Queue, o Options) (w *Worker, err error) {
	w = newWorker(q, o)
	if _, err := q.Conn.Subscribe(wire.CancelSubject+"*", w.cancelled); err != nil {
		return nil, err
	}
	q.Gauge.Doubt()
	if w.puller, err = newPuller(q.Conn); err != nil {
		return nil, err
	}
	if err := w.publish(); err != nil {
		return nil, err
	}
	go func() {
		list := o.Runner.Languages()
		w.languages.Store(&list)
	}()
	go w.loop()
	return w, nil
}

// Name returns the worker's name.
func (w *Worker) Name() string { return w.q.Name() }

// Running returns how many runs go on.
func (w *Worker) Running() int { return len(w.slots) + len(w.endings) }

// Short returns why no runs are taken at present, or "".
func (w *Worker) Short() string { return w.ready.why() }

// Ends reports whether no more runs are taken, since the worker ends.
func (w *Worker) Ends() bool { return w.life.pull.Err() != nil }

// Drain takes no more runs and waits until those that go on have ended, or ctx has. Then Kill is to be called before
// the runs are cancelled.
func (w *Worker) Drain(ctx context.Context) error { return w.life.drain(ctx) }

// Kill marks the runs that go on: they are about to be cancelled, and other workers shall run them.
func (w *Worker) Kill() { w.life.killed.Store(true) }

// cancelled ends a run whose caller does not want it any more.
func (w *Worker) cancelled(m *nats.Msg) {
	w.q.Gauge.Doubt()
	if w.going.cancel(m.Subject[len(wire.CancelSubject):]) && m.Reply != "" {
		if err := m.Respond(nil); err != nil {
			w.q.Options.Logger.Debug("who cancels a run does not learn that it ends", "error", err)
		}
	}
}

const (
	// sweepEvery is the interval at which all lanes are looked at, for runs whose worker was lost and messages on
	// brig.wake that were.
	sweepEvery = time.Second
	// leftFor is how long a run is left in the queue whose tenant has his part.
	leftFor = 2 * time.Second
)

// loop takes runs while there are free slots.
func (w *Worker) loop() {
	defer close(w.life.looping)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	ended := w.life.pull.Done()
	for w.life.pull.Err() == nil {
		select {
		case w.slots <- struct{}{}: // the place of the next run
		case <-ended:
			return
		}
		select {
		case <-sweep.C: // also if there is always something to take
			w.board.Heat()
		default:
		}
		if !w.ready.ask() || !w.take() {
			<-w.slots
			select {
			case <-w.board.Woken():
			case <-sweep.C:
				w.board.Heat()
			case <-ended:
			}
		}
	}
}

// take takes a run from the next lane that has one, and starts it in the place that the caller has made. It returns
// false if there is none.
func (w *Worker) take() bool {
	w.probe()
	for _, l := range w.board.Order() {
		if m := w.takeFrom(l); m != nil {
			w.counts.taken.Add(1)
			w.board.Taken(l, wire.TenantOf(m.Subject))
			w.life.going.Add(1)
			select {
			case w.idle <- m:
			default:
				go w.serve(m)
			}
			return true
		}
	}
	return false
}

// takeFrom takes a run from a lane. It leaves those whose tenants have their parts.
func (w *Worker) takeFrom(l lane.Lane) *nats.Msg {
	for {
		w.board.Mark(l, false) // before the look, so that no wake is lost
		m, more, err := w.puller.next(l)
		if err != nil {
			w.unread(l, err)
			return nil
		}
		if more {
			w.board.Mark(l, true)
		} else {
			w.ears.listen(l)
		}
		if m != nil && w.board.Full(wire.TenantOf(m.Subject)) {
			w.putBack(m)
			continue
		}
		w.board.Found(l, m != nil)
		return m
	}
}

func (w *Worker) unread(l lane.Lane, err error) {
	w.q.Options.Logger.Debug("a lane cannot be read", "lane", l.Consumer(), "error", err)
}

// serve handles deliveries until the worker ends. A goroutine is used again, since each new one has to grow its stack.
func (w *Worker) serve(m *nats.Msg) {
	for {
		tenant := wire.TenantOf(m.Subject)
		free := sync.OnceFunc(func() { w.board.Release(tenant); <-w.slots })
		w.handle(m, free)
		free()
		w.life.going.Done()
		select {
		case m = <-w.idle:
		case <-w.life.pull.Done():
			return
		}
	}
}

// probe looks whether closed lanes that are worth a look have runs of others, and opens those.
func (w *Worker) probe() {
	now := time.Now()
	for _, l := range w.board.Closed(now) {
		ctx, cancel := context.WithTimeout(context.Background(), retry.Soon)
		counts, err := w.q.Count(ctx, l.Token()+".*")
		cancel()
		if err != nil {
			w.unread(l, err)
		}
		runs := map[string]uint64{}
		for subject, n := range counts {
			runs[wire.TenantOf(subject)] = n
		}
		w.board.Probed(l, runs, now)
	}
}

// putBack leaves a run in the queue whose tenant has his part. That is noted, since it is no try.
func (w *Worker) putBack(m *nats.Msg) {
	meta, err := m.Metadata()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), retry.Soon)
		defer cancel()
		left := meta.NumDelivered
		if left > 1 {
			left = w.q.Keys.Left(ctx, meta.Sequence.Stream) + 1
		}
		if err = w.q.Keys.SetLeft(ctx, meta.Sequence.Stream, left); err == nil {
			err = m.NakWithDelay(leftFor)
		}
	}
	if err != nil { // it is delivered again when the server has waited for it
		w.q.Options.Logger.Debug("a run is not left in the queue at once", "error", err)
	}
}
