package nsjail

import (
	"slices"
	"time"

	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"
)

// jailPool holds parked jails for Specs with the same key.
type jailPool struct {
	warm.Pool[*jail]
	key       spec.Spec
	automatic bool      // created by growPool
	used      time.Time // when a jail was last taken; warmRoot.mu guards both
}

const (
	maxAutomatic  = 4               // automatic pools at the same time
	automaticIdle = 5 * time.Second // without a start; another pool may then replace it
)

// Prestart keeps n fresh jails parked for Specs like s. Each is used once and is replaced in the background. If none is
// ready, Start creates one. A jail is parked before its streams, working directory, filter and command are known, and
// before its mounts are, unless the Spec has a Rootfs. A Spec is like s if it differs only in Args, Env, PassEnv,
// Workdir, the Limits that the keeper holds (Limit.Keeper) and, without a Rootfs, in Mounts.
//
// Prestart creates the first jail before it returns, and returns an error of its namespaces or its control group. Start
// returns a later error of its set-up. A second call for such a Spec changes n; 0 ends the pool. A parked jail holds
// two descriptors, two processes and, if its limits need one, a control group.
func (r *Runner) Prestart(s Spec, n int) error {
	if err := r.mayPrestart(&s, n); err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return err
	}
	defer r.starts.Done()
	y := r.tree.pool(r, &s)
	if n > 0 {
		if err := y.Prime(n); err != nil {
			return err
		}
	}
	return y.DropAll(y.Resize(n, true))
}

// mayPrestart returns an error if jails of a Spec cannot be made in advance.
func (r *Runner) mayPrestart(s *spec.Spec, n int) error {
	if problems := s.Check(); len(problems) > 0 {
		return problems[0].AsError()
	}
	if n < 0 {
		return spec.CallerError("prestart", "a negative number of jails", "give how many to keep ready")
	}
	if r.tree != nil && preparable(s) {
		return nil
	}
	why := "the host's network is not in a prepared tree"
	if s.Net != spec.NetHost {
		why = "each jail has its own /etc, or its own directory on disk for changes"
	}
	if r.tree == nil {
		why = r.why
	}
	return spec.HostError("prestart", why, "run without Prestart, which takes longer for each jail")
}

// pool returns the pool for a Spec, and creates it if necessary. The pool no longer counts as automatic.
func (st *warmRoot) pool(r *Runner, s *spec.Spec) *jailPool {
	key := plan.PrefixSpec(s.Clone())
	st.mu.Lock()
	defer st.mu.Unlock()
	y := st.find(&key)
	if y == nil {
		y = st.open(r, key)
	}
	y.automatic = false
	return y
}

// open creates a pool. The caller holds the lock.
func (st *warmRoot) open(r *Runner, key spec.Spec) *jailPool {
	y := &jailPool{key: key, used: time.Now()}
	y.Make = func() (*jail, error) {
		k, err := kindOf(&y.key)
		if err != nil {
			return nil, err
		}
		return r.park(&y.key, k, nil)
	}
	y.Drop = (*jail).discard
	st.pools = append(st.pools, y)
	return y
}

func (st *warmRoot) find(key *spec.Spec) *jailPool {
	i := slices.IndexFunc(st.pools, func(y *jailPool) bool { return sameSpec(&y.key, key) })
	if i < 0 {
		return nil
	}
	return st.pools[i]
}

// takeParked returns a parked jail of a kind, or nil if none is ready. It discards jails whose prefix no longer fits.
func (st *warmRoot) takeParked(k *kind) (*jail, error) {
	st.mu.Lock()
	y := st.find(&k.key)
	if y != nil {
		y.used = time.Now()
	}
	st.mu.Unlock()
	if y == nil {
		return nil, nil
	}
	for {
		j := y.Take()
		if j == nil || j.from.fits(k) && j.waits() {
			return j, nil
		}
		if err := j.discard(); err != nil {
			return nil, err
		}
	}
}

// growPool parks jails of a kind that is started repeatedly. It divides RunnerOptions.Pool among at most maxAutomatic
// pools, and ignores kinds that have a pool made by Prestart.
func (r *Runner) growPool(t *planTemplate) {
	st := r.tree
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.starts++; r.pool == 0 || t.starts < 2 && !st.started(t) || t.gone || st.find(&t.key) != nil {
		return
	}
	var automatic []*jailPool
	for _, y := range st.pools {
		if y.automatic {
			automatic = append(automatic, y)
		}
	}
	if len(automatic) == min(maxAutomatic, r.pool) {
		idlest := slices.MinFunc(automatic, func(a, b *jailPool) int { return a.used.Compare(b.used) })
		if time.Since(idlest.used) < automaticIdle {
			return
		}
		isIdlest := func(y *jailPool) bool { return y == idlest }
		st.pools, automatic = slices.DeleteFunc(st.pools, isIdlest), slices.DeleteFunc(automatic, isIdlest)
		r.ending.Go(func() { _ = idlest.Close() }) // no caller waits for the error
	}
	y := st.open(r, t.key)
	y.automatic = true
	automatic = append(automatic, y)
	for _, y := range automatic {
		surplus := y.Resize(r.pool/len(automatic), false) // after the current start
		r.ending.Go(func() { _ = y.DropAll(surplus) })    // as above
	}
}

// started reports whether a jail of the same key has been started before, with or without a pooled network namespace.
func (st *warmRoot) started(t *planTemplate) bool {
	return slices.ContainsFunc(st.templates,
		func(k *planTemplate) bool { return k != t && k.starts > 0 && sameSpec(&k.key, &t.key) })
}
