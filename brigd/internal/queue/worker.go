package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// Runner is what a worker runs with: the engine of a brigd.
type Runner interface {
	Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response
	Authenticate(bearer string, now time.Time) (engine.Caller, *job.Refusal)
	Languages() []engine.Language
}

// WorkerOptions are what a Worker is made of.
type WorkerOptions struct {
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
	*Queue
	o       WorkerOptions
	slots   chan struct{}  // has a value for each run that goes on
	endings chan struct{}  // and one for each run whose result is being stored
	idle    chan *nats.Msg // to goroutines that wait for a delivery

	pull    context.Context // ends when no more runs are taken
	stop    context.CancelFunc
	looping chan struct{} // closed when the loop has ended
	inbox   string
	answers *nats.Subscription // to requests for runs
	asked   int
	looked  time.Time // when the loop has called Short, and
	seen    string    // what that has returned
	going   sync.WaitGroup
	killed  atomic.Bool // runs are cancelled because brigd ends: others shall run them

	mu      sync.Mutex
	hot     map[lane]bool // worth a look
	listens map[lane]bool // the server tells of runs that come
	served  map[lane]int  // the turn of its last run
	woken   chan struct{} // has room for one
	turn    int           // counts runs that were taken
	shares  shares
	running map[*delivery]context.CancelCauseFunc
	pause   time.Time // no run is taken before
	short   string

	languages atomic.Pointer[[]engine.Language] // to find them takes a second or more

	counts
}

// counts are for metrics.
type counts struct{ taken, again, dead, late atomic.Int64 }

// Counts returns how many runs were taken, taken after another worker had begun, given up, and ended after another
// worker had stored a result.
func (w *Worker) Counts() (taken, again, dead, late int64) {
	return w.taken.Load(), w.again.Load(), w.dead.Load(), w.late.Load()
}

// StartWorker begins to take runs.
func StartWorker(q *Queue, o WorkerOptions) (*Worker, error) {
	w := &Worker{Queue: q, o: o, slots: make(chan struct{}, o.Slots), endings: make(chan struct{}, o.Slots),
		looping: make(chan struct{}), idle: make(chan *nats.Msg), hot: map[lane]bool{}, listens: map[lane]bool{},
		served: map[lane]int{}, woken: make(chan struct{}, 1), running: map[*delivery]context.CancelCauseFunc{}}
	w.shares.most = slotsOfOne(o)
	w.pull, w.stop = context.WithCancel(context.Background())
	w.heat()
	if _, err := q.nc.Subscribe(cancelSubject+"*", w.cancelled); err != nil {
		return nil, err
	}
	q.doubt()
	w.inbox = q.nc.NewInbox() + "."
	var err error
	if w.answers, err = q.nc.SubscribeSync(w.inbox + "*"); err != nil {
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

// Running returns how many runs go on.
func (w *Worker) Running() int { return len(w.slots) + len(w.endings) }

// Short returns why no runs are taken at present, or "".
func (w *Worker) Short() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.short
}

// Ends reports whether no more runs are taken, since the worker ends.
func (w *Worker) Ends() bool { return w.pull.Err() != nil }

// Drain takes no more runs and waits until those that go on have ended, or ctx has. Then Kill is to be called before
// the runs are cancelled.
func (w *Worker) Drain(ctx context.Context) error {
	w.stop()
	done := make(chan struct{})
	go func() {
		<-w.looping
		w.going.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lasting returns a context for what must not be lost. It ends some time after the worker was stopped, but not before
// that much time has passed since the call: a run may end long after the stop, and its result is still to be stored.
func (w *Worker) lasting() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(w.pull, func() { time.AfterFunc(patience, cancel) })
	return ctx, func() { stop(); cancel() }
}

// Kill marks the runs that go on: they are about to be cancelled, and other workers shall run them.
func (w *Worker) Kill() { w.killed.Store(true) }

// sweepEvery is the interval at which all lanes are looked at, for runs whose worker was lost and messages on
// brig.wake that were.
const sweepEvery = time.Second

// loop takes runs while there are free slots.
func (w *Worker) loop() {
	defer close(w.looping)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for w.pull.Err() == nil {
		select {
		case w.slots <- struct{}{}: // the place of the next run
		case <-w.pull.Done():
			return
		}
		select {
		case <-sweep.C: // also if there is always something to take
			w.heat()
		default:
		}
		if !w.ready() || !w.take() {
			<-w.slots
			select {
			case <-w.woken:
			case <-sweep.C:
				w.heat()
			case <-w.pull.Done():
			}
		}
	}
}

// lookEvery is how often the machine is looked at: /proc/meminfo takes the kernel a part of what a run does.
const lookEvery = 250 * time.Millisecond

// ready reports whether runs may be taken: disk and memory suffice, and no run was refused for want of something.
func (w *Worker) ready() bool {
	if now := time.Now(); now.Sub(w.looked) > lookEvery {
		w.looked, w.seen = now, w.o.Short()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	why := w.seen
	if why == "" && time.Now().Before(w.pause) {
		why = "this machine had no room for a jail"
	}
	if why != w.short {
		w.Queue.o.Logger.Warn("whether runs are taken has changed", "short_of", why)
		w.short = why
	}
	return why == ""
}

// cancelled ends a run whose caller does not want it any more.
func (w *Worker) cancelled(m *nats.Msg) {
	id, found := m.Subject[len(cancelSubject):], false
	w.doubt()
	w.mu.Lock()
	for d, cancel := range w.running { // more than one if it was delivered again while it went on
		if d.j.ID == id {
			found = true
			cancel(context.Canceled)
		}
	}
	w.mu.Unlock()
	if found && m.Reply != "" {
		if err := m.Respond(nil); err != nil {
			w.Queue.o.Logger.Debug("who cancels a run does not learn that it ends", "error", err)
		}
	}
}
