// Package submit puts runs into the queue and waits for their results.
package submit

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/dead"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
	"brig/nsjail"
)

// Front puts runs into the queue and waits for their results. It is a front.Queue.
type Front struct {
	q      *queue.Queue
	ledger ledger
	inbox  string
	dead   *dead.Runs

	waiters waiters
	asking  turns // by the run's id
	packing packing
	room    room
}

// ledger counts runs of callers with tokens.
type ledger struct {
	count func(engine.Caller) *job.Refusal
	has   func(engine.Caller) bool // whether there is one for a caller
}

// New returns a Front. count counts a run in the ledger of the caller's token.
func New(q *queue.Queue, count func(engine.Caller) *job.Refusal) (*Front, error) {
	f := newFront(q, ledger{count, func(c engine.Caller) bool { return c.Grant != nil }}, nats.NewInbox()+".")
	s, err := q.Conn.Subscribe(f.inbox+"*", f.waiters.arrived)
	if err != nil {
		return nil, err
	}
	q.Local.Set(f.waiters.hand)
	return f, s.SetPendingLimits(-1, -1) // bounded by what the workers may send without an answer
}

func newFront(q *queue.Queue, l ledger, inbox string) *Front {
	return &Front{q: q, ledger: l, inbox: inbox, dead: dead.New(q), waiters: newWaiters(q.Options.Logger),
		asking: newTurns(), packing: newPacking(), room: newRoom(q)}
}

// Name returns the name of the worker of this process.
func (f *Front) Name() string { return f.q.Name() }

// Waiting returns how many requests wait for runs of the queue.
func (f *Front) Waiting() int { return f.waiters.count() }

// Requeue puts a run that was given up into the queue again, under the same id.
func (f *Front) Requeue(ctx context.Context, id string) error { return f.dead.Requeue(ctx, id) }

// Run puts a run into the queue and waits for its result. If ctx ends, the run is cancelled, unless it has a Key.
func (f *Front) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	id := runID(c, r)
	w := f.waiters.wait(id)
	defer f.waiters.forget(id, w)
	j := &record.Run{ID: id, Reply: f.inbox + id, Stream: stream != nil, Tracked: r.Key != ""}
	w.stream, w.only = stream, stream != nil
	if stream == nil {
		w.stream = r.Watch
	}
	j.Watch = w.stream != nil
	if a := f.submit(ctx, c, r, j); a != nil {
		return a
	}
	a, err := f.await(ctx, id, w)
	if err == nil && (a.Queue == nil || a.Queue.Worker != f.q.Name()) { // otherwise it is in the log of this process
		f.q.Options.Record.Answered(j.Sender(), r, a)
	}
	switch {
	case r.Key != "": // another request may ask for it
	case err == nil:
		f.settle(id, w, a)
	default:
		f.end(id, c)
		go f.outlive(id)
	}
	if err == nil {
		return a
	}
	return &engine.Response{ID: id, Status: string(nsjail.StatusCancelled), ExitCode: -1}
}

// outlive waits for the result of a run whose caller is gone, and removes it.
func (f *Front) outlive(id string) {
	w := f.waiters.wait(id)
	defer f.waiters.forget(id, w)
	ctx, cancel := context.WithTimeout(context.Background(), retry.Start)
	defer cancel()
	a, err := f.await(ctx, id, w)
	if err != nil {
		f.q.Options.Logger.Warn("a run that was cancelled has no result yet, and that will be kept", "run", id, "error", err)
		return
	}
	f.settle(id, w, a)
}

// settle forgets the delivered result of a run without a key. One that was not stored has revision 0.
func (f *Front) settle(id string, w *waiter, a *engine.Response) {
	if w.revision == 0 {
		return
	}
	if a.Error != nil && a.Error.Code == wire.GivenUp {
		return // the operator may let it begin again, and its next result is kept
	}
	f.q.Results.Forget(f.q.Conn, id, w.revision, w.object)
}

// Submit puts a run into the queue and returns its id. The result is found later, by Lookup.
func (f *Front) Submit(ctx context.Context, c engine.Caller, r *engine.Request) (id string, refused *engine.Response) {
	j := &record.Run{ID: runID(c, r), Tracked: true}
	if a := f.submit(ctx, c, r, j); a != nil && a.Error != nil && a.Queue == nil {
		return "", a
	}
	return j.ID, nil
}

// runID returns the id of a run: the same for the same Key of the same caller.
func runID(c engine.Caller, r *engine.Request) string {
	if r.Key == "" {
		return engine.NewID("run")
	}
	return "run_" + wire.Digest(append([]string{c.Key(), c.Name(), r.Key}, c.Grant.IDs()...)...)
}

// cancelTime is how long a worker may take to answer that it runs a run.
const cancelTime = time.Second

// end cancels a run, wherever it is. If no worker runs it, its result is stored here, and no worker will start it.
func (f *Front) end(id string, c engine.Caller) {
	ctx, cancel := context.WithTimeout(context.Background(), retry.Start)
	defer cancel()
	if _, err := f.q.Conn.Request(wire.CancelSubject+id, nil, cancelTime); err == nil {
		return
	}
	_, err := f.q.Results.Store(ctx, retry.Start, id, &record.Record{Owner: record.OwnerOf(c),
		Result: &engine.Response{ID: id, Status: string(nsjail.StatusCancelled), ExitCode: -1}})
	if err == nil {
		err = f.q.Conn.Publish(wire.CancelSubject+id, nil) // a worker may have started it meanwhile
	}
	if err != nil {
		f.q.Options.Logger.Warn("a run could not be cancelled", "run", id, "error", err)
	}
}

// Lookup returns where a run is that the caller has submitted; nil if there is none.
func (f *Front) Lookup(ctx context.Context, c engine.Caller, id string) (*front.QueueState, error) {
	for _, key := range []string{record.ResultKey(id), record.AskedKey(id)} {
		r, err := f.q.Results.Find(ctx, key)
		if err != nil {
			return nil, retry.Unavailable(err)
		}
		if r == nil || r.By != "" && r.Running == nil { // it is not in the queue yet
			continue
		}
		if chain := c.Grant.IDs(); r.Agent != c.Name() || len(chain) > len(r.Chain) ||
			!slices.Equal(chain, r.Chain[:len(chain)]) {
			return nil, nil
		}
		return &front.QueueState{Running: r.Running, Result: r.Result}, nil
	}
	return nil, nil
}

// Cancel cancels a run that the caller has submitted. It reports whether there is one.
func (f *Front) Cancel(ctx context.Context, c engine.Caller, id string) (bool, error) {
	s, err := f.Lookup(ctx, c, id)
	if err != nil || s == nil {
		return false, err
	}
	if s.Result == nil {
		f.end(id, c)
	}
	return true, nil
}
