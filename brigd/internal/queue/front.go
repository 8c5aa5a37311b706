package queue

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/job"
	"brig/nsjail"
)

// Front puts runs into the queue and waits for their results.
type Front struct {
	*Queue
	count func(engine.Caller) *job.Refusal
	// counted reports whether count has a ledger for a caller.
	counted func(engine.Caller) bool
	inbox   string

	mu       sync.Mutex
	waiters  map[string][]*waiter // by the run's id
	asking   turns                // by the run's id
	filling  turns                // by tenant
	sampling turns                // of one
	packing  packing
}

// NewFront returns a Front. count counts a run in the ledger of the caller's token.
func NewFront(q *Queue, count func(engine.Caller) *job.Refusal) (*Front, error) {
	f := &Front{Queue: q, count: count, counted: func(c engine.Caller) bool { return c.Grant != nil },
		inbox: nats.NewInbox() + ".", waiters: map[string][]*waiter{},
		asking:  turns{busy: map[string]chan struct{}{}},
		filling: turns{busy: map[string]chan struct{}{}}, sampling: turns{busy: map[string]chan struct{}{}},
		packing: newPacking()}
	s, err := q.nc.Subscribe(f.inbox+"*", f.arrived)
	if err != nil {
		return nil, err
	}
	q.front.Store(f)
	return f, s.SetPendingLimits(-1, -1) // bounded by what the workers may send without an answer
}

// Run puts a run into the queue and waits for its result. If ctx ends, the run is cancelled, unless it has a Key.
func (f *Front) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	id := runID(c, r)
	w := f.wait(id)
	defer f.forget(id, w)
	j := &queued{ID: id, Reply: f.inbox + id, Stream: stream != nil, Tracked: r.Key != ""}
	w.stream, w.only = stream, stream != nil
	if stream == nil {
		w.stream = r.Watch
	}
	j.Watch = w.stream != nil
	if a := f.submit(ctx, c, r, j); a != nil {
		return a
	}
	a, err := f.await(ctx, id, w)
	if err == nil && (a.Queue == nil || a.Queue.Worker != f.Name()) { // otherwise it is in the log of this process
		f.o.Record.Answered(j.sender(), r, a)
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
	w := f.wait(id)
	defer f.forget(id, w)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	a, err := f.await(ctx, id, w)
	if err != nil {
		f.o.Logger.Warn("a run that was cancelled has no result yet, and that will be kept", "run", id, "error", err)
		return
	}
	f.settle(id, w, a)
}

// forgotten is the record of a run whose result was delivered.
var forgotten = []byte(`{"dropped":true}`)

// settle replaces the delivered result of a run without a key by a tombstone, which has no owner who could look it up,
// so that a run that is delivered again does not start again. Nobody waits for the server; a result that it does not
// remove is kept as long as those with a key. One that was not stored has revision 0.
func (f *Front) settle(id string, w *waiter, a *engine.Response) {
	if w.revision == 0 {
		return
	}
	if a.Error != nil && a.Error.Code == givenUp {
		return // the operator may let it begin again, and its next result is kept
	}
	m := &nats.Msg{Subject: "$KV." + resultsBucket + ".r." + id, Data: forgotten, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(w.revision, 10)}}}
	if err := f.nc.PublishMsg(m); err != nil {
		f.o.Logger.Warn("a result that was delivered is not removed yet", "run", id, "error", err)
	} else if w.object != "" {
		go f.drop(context.Background(), f.large, w.object)
	}
}

// Submit puts a run into the queue and returns its id. The result is found later, by Lookup.
func (f *Front) Submit(ctx context.Context, c engine.Caller, r *engine.Request) (id string, refused *engine.Response) {
	j := &queued{ID: runID(c, r), Tracked: true}
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
	return "run_" + digest(append([]string{c.Key(), c.Name(), r.Key}, c.Grant.IDs()...)...)
}

// cancelTime is how long a worker may take to answer that it runs a run.
const cancelTime = time.Second

// end cancels a run, wherever it is. If no worker runs it, its result is stored here, and no worker will start it.
func (f *Front) end(id string, c engine.Caller) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	if _, err := f.nc.Request(cancelSubject+id, nil, cancelTime); err == nil {
		return
	}
	_, err := f.store(ctx, startTime, id, &record{owner: ownerOf(c),
		Result: &engine.Response{ID: id, Status: string(nsjail.StatusCancelled), ExitCode: -1}})
	if err == nil {
		err = f.nc.Publish(cancelSubject+id, nil) // a worker may have started it meanwhile
	}
	if err != nil {
		f.o.Logger.Warn("a run could not be cancelled", "run", id, "error", err)
	}
}

// Lookup returns where a run is that the caller has submitted; nil if there is none.
func (f *Front) Lookup(ctx context.Context, c engine.Caller, id string) (*front.QueueState, error) {
	for _, key := range []string{"r." + id, "q." + id} {
		r, err := f.find(ctx, key)
		if err != nil {
			return nil, unavailable(err)
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
