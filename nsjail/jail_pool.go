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

// pool returns the pool for a Spec, and creates it if necessary. The pool no longer counts as automatic.
func (st *warmRoot) pool(s *spec.Spec) *jailPool {
	key := plan.PrefixSpec(s.Clone())
	st.mu.Lock()
	defer st.mu.Unlock()
	y := st.find(&key)
	if y == nil {
		y = st.open(key)
	}
	y.automatic = false
	return y
}

// open creates a pool. The caller holds the lock.
func (st *warmRoot) open(key spec.Spec) *jailPool {
	y := &jailPool{key: key, used: time.Now()}
	y.Make = func() (*jail, error) {
		k, err := kindOf(&y.key)
		if err != nil {
			return nil, err
		}
		return st.park(&y.key, k, nil)
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
func (st *warmRoot) growPool(t *planTemplate) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.starts++; st.most == 0 || t.starts < 2 && !st.started(t) || t.gone || st.find(&t.key) != nil {
		return
	}
	var automatic []*jailPool
	for _, y := range st.pools {
		if y.automatic {
			automatic = append(automatic, y)
		}
	}
	if len(automatic) == min(maxAutomatic, st.most) {
		idlest := slices.MinFunc(automatic, func(a, b *jailPool) int { return a.used.Compare(b.used) })
		if time.Since(idlest.used) < automaticIdle {
			return
		}
		isIdlest := func(y *jailPool) bool { return y == idlest }
		st.pools, automatic = slices.DeleteFunc(st.pools, isIdlest), slices.DeleteFunc(automatic, isIdlest)
		st.ending.Go(func() { _ = idlest.Close() }) // no caller waits for the error
	}
	y := st.open(t.key)
	y.automatic = true
	automatic = append(automatic, y)
	for _, y := range automatic {
		surplus := y.Resize(st.most/len(automatic), false) // after the current start
		st.ending.Go(func() { _ = y.DropAll(surplus) })    // as above
	}
}

// started reports whether a jail of the same key has been started before, with or without a pooled network namespace.
func (st *warmRoot) started(t *planTemplate) bool {
	return slices.ContainsFunc(st.templates,
		func(k *planTemplate) bool { return k != t && k.starts > 0 && sameSpec(&k.key, &t.key) })
}
