package nsjail

import (
	"slices"
	"time"

	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
)

const (
	maxRepeated  = 4               // automatic pools at the same time
	repeatedIdle = 5 * time.Second // without a start; another pool may then replace it
)

// growPool parks jails for Specs that are started repeatedly. It divides RunnerOptions.Pool among at most maxRepeated
// pools, and ignores Specs that have a pool made by Prestart.
func (r *Runner) growPool(s *spec.Spec, t *planTemplate) {
	if r.pool == 0 || !preparable(s) {
		return
	}
	st := r.tree
	st.mu.Lock()
	defer st.mu.Unlock()
	key := plan.PrefixSpec(s)
	if t.starts++; t.starts < 2 && !st.started(t) || t.gone || st.done || st.find(&key) != nil {
		return
	}
	automatic := st.automaticPools()
	if len(automatic) == min(maxRepeated, r.pool) {
		idlest := slices.MinFunc(automatic, func(a, b *jailPool) int { return a.used.Compare(b.used) })
		if time.Since(idlest.used) < repeatedIdle {
			return
		}
		st.pools = slices.DeleteFunc(st.pools, func(y *jailPool) bool { return y == idlest })
		automatic = slices.DeleteFunc(automatic, func(y *jailPool) bool { return y == idlest })
		r.ending.Go(func() { _ = idlest.close() }) // no caller waits for the error
	}
	key.Args = []string{"true"} // drop the rest of the run
	y := st.open(r, &key)
	y.automatic = true
	automatic = append(automatic, y)
	for _, y := range automatic {
		extra := y.resize(r.pool/len(automatic), (*jailPool).later) // after the current start
		r.ending.Go(func() { _ = discardAll(extra) })               // as above
	}
}

// started reports whether a jail of the same key has been started before, with or without a pooled network namespace.
func (st *warmRoot) started(t *planTemplate) bool {
	return slices.ContainsFunc(st.templates,
		func(k *planTemplate) bool { return k != t && k.starts > 0 && sameSpec(&k.key, &t.key) })
}

// automaticPools returns the pools created by growPool. The caller holds the lock.
func (st *warmRoot) automaticPools() (list []*jailPool) {
	for _, y := range st.pools {
		if y.automatic {
			list = append(list, y)
		}
	}
	return list
}
