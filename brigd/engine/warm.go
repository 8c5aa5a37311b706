package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"brig/brigd/job"
	"brig/nsjail"
)

// Warm asks for interpreters of a language that are started before their runs are known: nsjail.Runner.PrestartRunning.
type Warm struct {
	Language string
	Count    int      // how many wait at the same time
	Imports  []string // the modules that they have loaded
}

// MaxWarm is the maximum Count.
const MaxWarm = 256

// warmIdle is the time without a run after which interpreters of one Spec may be replaced by those of another.
const warmIdle = 5 * time.Second

// parked holds the interpreters of one language. They have one Spec: at first that of a request without settings.
type parked struct {
	Warm
	first nsjail.Spec

	mu            sync.Mutex
	now           nsjail.Spec   // the Spec that is parked
	missed        nsjail.Limits // those of the last run for which none fitted because of its limits alone
	used          time.Time     // when one was taken last
	changing      bool
	taken, misses int64
	failed        int64 // changes
}

// Warmth is the state of the interpreters of a language, for metrics.
type Warmth struct {
	Language      string
	Parked        int   // wait for a run
	Memory        int64 // bytes that they hold
	Taken, Missed int64 // runs that took one, and runs for which none was ready or fitted
	Failed        int64 // interpreters that could not be started, and changes to others that failed
}

// parking has the interpreters that wait for runs.
type parking struct {
	warm      []Warm
	runner    *nsjail.Runner
	jails     job.Executor // on runner
	languages *languages
	requests  *requests
	failed    func(language string, err error)

	list    atomic.Pointer[map[string]*parked] // by language; nil before Prestart
	changes sync.WaitGroup                     // interpreters that are being replaced
}

// Prestart starts the interpreters of Options.Warm. Each gets the limits that the engine and its policies give to a
// request that names none. Until it has returned, no interpreter is taken.
func (k *parking) Prestart(ctx context.Context) error {
	list := map[string]*parked{}
	for _, w := range k.warm {
		if err := k.languages.here.Try(ctx, k.jails, w.Language); err != nil { // a program that works is the one to park
			return fmt.Errorf("warm interpreters: %w", err)
		}
		name, err := k.languages.here.CanPark(w.Language, w.Imports)
		switch {
		case err != nil:
			return fmt.Errorf("warm interpreters: %w", err)
		case list[name] != nil:
			return fmt.Errorf("warm interpreters: %s is named twice; name its modules together", name)
		case w.Count < 1 || w.Count > MaxWarm:
			return fmt.Errorf("warm interpreters of %s: %d is not a number from 1 to %d; write another", name, w.Count, MaxWarm)
		}
		w.Language = name
		if list[name], err = k.park(ctx, w); err != nil {
			return fmt.Errorf("warm interpreters of %s: %w; or do without them", name, err)
		}
	}
	k.list.Store(&list)
	return nil
}

// park starts the interpreters of one language.
func (k *parking) park(ctx context.Context, w Warm) (*parked, error) {
	r := &Request{Language: w.Language}
	j, no := k.requests.prepare(ctx, Caller{}, r)
	if no == nil {
		k.requests.decide(Caller{}, j, r, false)
		k.languages.show(j)
		no = j.Verdict.Refusal
	}
	if no != nil {
		return nil, fmt.Errorf("a request for nothing else is refused: %w; allow it", no)
	}
	p := &parked{Warm: w, used: time.Now()}
	p.first = p.spec(j, k.languages.here.Handover(j, p.Imports))
	p.now, p.missed = p.first, p.first.Limits
	return p, k.runner.PrestartRunning(p.first, w.Count)
}

// parkedFor returns the interpreters of a Job's language, or nil.
func (k *parking) parkedFor(j *job.Job) *parked {
	if list := k.list.Load(); list != nil && j.Verdict.Refusal == nil && j.Image == nil {
		return (*list)[j.Language]
	}
	return nil
}

// execute runs a Job by a parked interpreter, if one has its Spec.
func (k *parking) execute(ctx context.Context, p *parked, j *job.Job) (*nsjail.Result, error) {
	j.Handover = k.languages.here.Handover(j, p.Imports)
	res, err := k.jails.Execute(ctx, j)
	if res != nil {
		k.ran(p, j, res.Warm)
	}
	return res, err
}

// spec returns the Spec of an interpreter that can run a Job.
func (p *parked) spec(j *job.Job, h *nsjail.Handover) nsjail.Spec {
	s := j.Spec
	s.Args, s.Env, s.Mounts, s.Limits = h.Args, h.Env, h.Mounts, s.Limits.WithoutKeeper()
	return s
}

// ran counts a run. If the last two runs for which no interpreter fitted had the same limits, and no run has taken one
// for warmIdle, it replaces the interpreters by those with these limits. Only the limits may differ from the first
// Spec: a parked interpreter may serve any caller, so it must not have a variable or a file of a request.
func (k *parking) ran(p *parked, j *job.Job, warm bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if warm {
		p.taken, p.used = p.taken+1, time.Now()
		return
	}
	p.misses++
	to := p.spec(j, j.Handover)
	limits := to.Limits
	if to.Limits = p.first.Limits; !reflect.DeepEqual(to, p.first) {
		return
	}
	again := reflect.DeepEqual(limits, p.missed)
	p.missed = limits
	if again && !p.changing && time.Since(p.used) >= warmIdle && !reflect.DeepEqual(limits, p.now.Limits) {
		p.changing = true
		to.Limits = limits
		k.changes.Go(func() { k.change(p, *to.Clone()) })
	}
}

// change replaces the parked interpreters by those of another Spec. The old ones stay until a new one is ready, or if
// none can be started.
func (k *parking) change(p *parked, to nsjail.Spec) {
	p.mu.Lock()
	from := p.now
	p.mu.Unlock()
	err := k.runner.PrestartRunning(to, p.Count)
	if err == nil {
		err = k.runner.PrestartRunning(from, 0)
	} else {
		to = from
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		k.failed(p.Language, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.used, p.changing = to, time.Now(), false
	if err != nil {
		p.failed++
	}
}

// Warmth returns the state of all interpreters that Prestart has started.
func (k *parking) Warmth() (list []Warmth) {
	all := k.list.Load()
	if all == nil {
		return nil
	}
	for _, p := range *all {
		p.mu.Lock()
		w := Warmth{Language: p.Language, Taken: p.taken, Missed: p.misses, Failed: p.failed}
		now := p.now
		p.mu.Unlock()
		s := k.runner.Parked(now)
		w.Parked, w.Memory, w.Failed = s.Ready, s.Memory, w.Failed+s.Failed
		list = append(list, w)
	}
	return list
}
