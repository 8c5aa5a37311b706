package nsjail

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
	"brig/nsjail/internal/warm"
)

// jailPool holds parked jails for Specs with the same key.
type jailPool struct {
	runner    *Runner
	spec      spec.Spec
	key       spec.Spec
	automatic bool      // created by growPool
	used      time.Time // when a jail was last taken; warmRoot.mu guards both

	mu      sync.Mutex
	want    int
	ready   []*parked
	filling bool
	closed  bool
	fillers sync.WaitGroup
}

// Prestart keeps n fresh jails parked for Specs like s. Each is used once and is replaced in the background. If none is
// ready, Start creates one. A jail is parked before its streams, working directory, filter and command are known, and
// before its mounts are, unless the Spec has a Rootfs. A Spec is like s if it differs only in Args, Env, PassEnv,
// Workdir, the Limits that the keeper holds (Limit.Keeper) and, without a Rootfs, in Mounts.
//
// Prestart creates the first jail before it returns, and returns an error of its namespaces or its control group. Start
// returns a later error of its set-up. A second call for such a Spec changes n; 0 ends the pool. A parked jail holds
// two descriptors, two processes and, if its limits need one, a control group.
func (r *Runner) Prestart(s spec.Spec, n int) error {
	if problems := s.Check(); len(problems) > 0 {
		return problems[0].AsError()
	}
	if n < 0 {
		return &spec.Error{Fault: spec.FaultCaller, Op: "prestart", Detail: "a negative number of jails",
			Remedy: "give how many to keep ready"}
	}
	if r.tree == nil || !preparable(&s) {
		why := "the host's network is not in a prepared tree"
		if r.tree == nil {
			why = r.why
		}
		return &spec.Error{Fault: spec.FaultHost, Op: "prestart", Detail: why,
			Remedy: "run without Prestart, which takes longer for each jail"}
	}
	if err := r.start(); err != nil {
		return err
	}
	defer r.starts.Done()
	y := r.tree.pool(r, &s)
	if n > 0 {
		j, err := r.park(&s, nil)
		if err != nil {
			return err
		}
		if !y.add(j, n) {
			return errors.Join(os.ErrClosed, j.discard())
		}
	}
	return discardAll(y.resize(n, (*jailPool).refill))
}

// add appends a jail. It returns false if the Runner is closed.
func (y *jailPool) add(j *parked, want int) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.closed {
		return false
	}
	y.want = want
	y.ready = append(y.ready, j)
	return true
}

// pool returns the pool for a Spec, and creates it if necessary. The pool no longer counts as automatic.
func (st *warmRoot) pool(r *Runner, s *spec.Spec) *jailPool {
	key := plan.PrefixSpec(s)
	st.mu.Lock()
	defer st.mu.Unlock()
	if y := st.find(&key); y != nil {
		y.automatic = false
		return y
	}
	return st.open(r, s)
}

// open creates a pool. The caller holds the lock.
func (st *warmRoot) open(r *Runner, s *spec.Spec) *jailPool {
	own := s.Clone()
	y := &jailPool{runner: r, spec: *own, key: plan.PrefixSpec(own), used: time.Now(), closed: st.done}
	st.pools = append(st.pools, y)
	return y
}

func (st *warmRoot) find(key *spec.Spec) *jailPool {
	for _, y := range st.pools {
		if sameSpec(&y.key, key) {
			return y
		}
	}
	return nil
}

// takeParked returns a parked jail for a Spec, or nil if none is ready. It discards jails whose prefix no longer fits.
func (r *Runner) takeParked(s *spec.Spec) (*parked, error) {
	r.tree.mu.Lock()
	none := len(r.tree.pools) == 0
	r.tree.mu.Unlock()
	if none {
		return nil, nil
	}
	key, filter, err := r.tree.ask(s)
	if err != nil {
		return nil, err
	}
	r.tree.mu.Lock()
	y := r.tree.find(&key)
	if y != nil {
		y.used = time.Now()
	}
	r.tree.mu.Unlock()
	if y == nil {
		return nil, nil
	}
	for {
		j := y.pop()
		if j == nil || j.from.fits(&key, filter) && j.waits() {
			return j, nil
		}
		if err := j.discard(); err != nil {
			return nil, err
		}
	}
}

func (y *jailPool) pop() *parked {
	y.mu.Lock()
	defer y.mu.Unlock()
	var j *parked
	if len(y.ready) > 0 {
		j, y.ready = y.ready[0], y.ready[1:]
	}
	y.refill()
	return j
}

// refill parks jails in the background: at once if none is ready, else after the current start. y.mu is held.
func (y *jailPool) refill() {
	if len(y.ready) == 0 {
		y.begin(func() { go y.fill() })
	} else {
		y.later()
	}
}

// later refills after the current start. The caller holds the lock.
func (y *jailPool) later() { y.begin(func() { time.AfterFunc(warm.RefillPause, y.fill) }) }

func (y *jailPool) begin(start func()) {
	if y.filling || y.closed || !warm.Low(len(y.ready), y.want) {
		return
	}
	y.filling = true
	y.fillers.Add(1)
	start()
}

// fill parks jails until there are enough. It stops at an error; the next start then spawns its own jail and returns
// the same error.
func (y *jailPool) fill() {
	defer y.fillers.Done()
	for {
		j, err := y.runner.park(&y.spec, nil)
		y.mu.Lock()
		keep := err == nil && !y.closed && len(y.ready) < y.want
		if keep {
			y.ready = append(y.ready, j)
		}
		stop := err != nil || y.closed || len(y.ready) >= y.want
		if stop {
			y.filling = false
		}
		y.mu.Unlock()
		if err == nil && !keep {
			_ = j.discard() // no caller waits for the error
		}
		if stop {
			return
		}
	}
}

// resize sets the number of parked jails, calls fill to create missing ones, and returns the surplus ones.
func (y *jailPool) resize(n int, fill func(*jailPool)) (extra []*parked) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.want = n
	if len(y.ready) > n {
		extra = slices.Clone(y.ready[n:])
		y.ready = y.ready[:n]
	}
	fill(y)
	return extra
}

// clear discards the jails that were parked from a template.
func (y *jailPool) clear(t *planTemplate) error {
	y.mu.Lock()
	var old []*parked
	y.ready = slices.DeleteFunc(y.ready, func(j *parked) bool {
		if j.from == t {
			old = append(old, j)
		}
		return j.from == t
	})
	y.mu.Unlock()
	return discardAll(old)
}

func (y *jailPool) close() error {
	y.mu.Lock()
	y.closed = true
	old := y.ready
	y.ready = nil
	y.mu.Unlock()
	y.fillers.Wait()
	return discardAll(old)
}

func discardAll(list []*parked) error {
	var errs []error
	for _, j := range list {
		errs = append(errs, j.discard())
	}
	return errors.Join(errs...)
}
