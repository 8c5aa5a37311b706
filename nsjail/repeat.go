package nsjail

import (
	"slices"
	"time"

	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"
)

const (
	maxRepeated  = 4               // kinds of Spec of which a Pool parks jails by itself
	repeatedIdle = 5 * time.Second // what a kind must have been without a start to make room for another
)

// repeated has jails of a kind of Spec that starts again parked as well, as many as the pool is to hold for all such
// kinds together: what starts twice is likely to start once more. The jails of a kind that Prestart was asked for are
// that call's business.
func (r *Runner) repeated(s *spec.Spec, t *template) {
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
	own := st.ownYards()
	if len(own) == min(maxRepeated, r.pool) {
		idlest := slices.MinFunc(own, func(a, b *yard) int { return a.used.Compare(b.used) })
		if time.Since(idlest.used) < repeatedIdle {
			return
		}
		st.yards = slices.DeleteFunc(st.yards, func(y *yard) bool { return y == idlest })
		own = slices.DeleteFunc(own, func(y *yard) bool { return y == idlest })
		r.ending.Go(func() { _ = idlest.close() }) // nobody is left to be told
	}
	key.Args = []string{"true"} // and nothing of what is the run's own
	y := st.open(r, &key)
	y.own = true
	own = append(own, y)
	for _, y := range own {
		extra := y.resize(r.pool/len(own), (*yard).later) // the start that is under way goes first
		r.ending.Go(func() { _ = discardAll(extra) })     // as above
	}
}

// started says that the kind has started before with the other kind of network namespace, one from the pool or not.
func (st *stand) started(t *template) bool {
	return slices.ContainsFunc(st.kinds, func(k *template) bool { return k != t && k.starts > 0 && sameSpec(&k.key, &t.key) })
}

// ownYards are those that nobody has asked for. The caller holds the lock.
func (st *stand) ownYards() (list []*yard) {
	for _, y := range st.yards {
		if y.own {
			list = append(list, y)
		}
	}
	return list
}
