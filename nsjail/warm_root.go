package nsjail

import (
	"errors"
	"os"
	"slices"
	"sync"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"
)

// maxTemplates is the number of templates that a Runner keeps.
const maxTemplates = 16

// warmRoot is the state of a launcher in a prepared root: the cached plans and the pools of parked jails.
type warmRoot struct {
	spawner *spawner
	modes   [2]plan.Mode // without and with a network namespace from the pool
	mounts  *warm.MountTable
	nets    *warm.NetPool   // nil for none
	most    int             // RunnerOptions.Pool
	ending  *sync.WaitGroup // what is released in the background

	mu        sync.Mutex
	templates []*planTemplate // the most recently used first
	pools     []*jailPool
	done      bool
}

// park spawns a jail that performs the prefix of the Spec and waits for its suffix. meanwhile, if not nil, runs while
// the launcher works. A cached template may no longer describe the machine, so after a failure park discards it and
// tries once more with a new one.
func (st *warmRoot) park(s *spec.Spec, k *kind, meanwhile func(*jail) error) (*jail, error) {
	for {
		j := &jail{}
		if st.nets != nil && wantsPool(s) && !k.living { // the keeper may hold a box's sockets longer than the box
			j.net = st.nets.Take()
		}
		t, known, err := st.template(s, k, j.net != nil)
		if err != nil {
			return nil, errors.Join(err, j.discard())
		}
		j.from = t
		var later error
		written := false
		o := order{plan: t.prefix.Plan, fds: &passedFDs{from: launcher.SlotReport}}
		if meanwhile != nil {
			o.meanwhile = func() { written, later = true, meanwhile(j) }
		}
		err = st.spawner.spawn(j, o)
		st.used(t)
		if err == nil && later == nil {
			return j, nil
		}
		if err == nil {
			err = errors.Join(later, j.discard())
		}
		if !known || written && !errors.Is(later, errStale) { // the streams can be opened only once
			return nil, err
		}
		if err := st.forgetTemplate(t); err != nil {
			return nil, err
		}
	}
}

// template returns a cached or a new template for a Spec. The caller must call warmRoot.used afterwards.
func (st *warmRoot) template(s *spec.Spec, k *kind, pooled bool) (t *planTemplate, known bool, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return nil, false, os.ErrClosed
	}
	at := slices.IndexFunc(st.templates, func(t *planTemplate) bool {
		return t.prefix.Plan.Mode.Net == pooled && t.fits(k)
	})
	if at >= 0 {
		t = st.templates[at]
		st.templates = slices.Insert(slices.Delete(st.templates, at, at+1), 0, t)
		t.uses++
		return t, true, nil
	}
	prefix := *s
	if plan.MountsComeLater(s) {
		prefix.Mounts, prefix.Protect = nil, nil
	}
	mounts := st.mounts.Changes()
	h, err := host.Look(&prefix)
	if err != nil {
		return nil, false, err
	}
	volumes, err := st.spawner.volumes.sources(&prefix)
	if err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	h = h.With(host.Prepared{Sources: volumes})
	mode := st.modes[0]
	if pooled {
		mode = st.modes[1]
	}
	mode.Box = k.living
	if t, err = newPlanTemplate(s, h, &mode); err != nil {
		return nil, false, errors.Join(err, h.Close())
	}
	t.uses, t.mounts = t.uses+1, mounts
	st.templates = slices.Insert(st.templates, 0, t)
	if n := len(st.templates) - 1; n == maxTemplates {
		st.templates[n].release()
		st.templates = st.templates[:n]
	}
	return t, false, nil
}

// close discards the parked jails and releases the templates.
func (st *warmRoot) close() error {
	if st == nil {
		return nil
	}
	st.mu.Lock()
	st.done = true
	for _, t := range st.templates {
		t.release()
	}
	pools := st.pools
	st.templates, st.pools = nil, nil
	st.mu.Unlock()
	var errs []error
	for _, y := range pools {
		errs = append(errs, y.Close())
	}
	errs = append(errs, st.mounts.Close())
	if st.nets != nil {
		errs = append(errs, st.nets.Close())
	}
	return errors.Join(errs...)
}

// release closes the files of a template when its last user has finished. The caller holds the lock.
func (t *planTemplate) release() {
	t.gone = true
	if t.uses == 0 {
		_ = t.file.Close()
		_ = t.prefix.Plan.Host.Close()
	}
}

// used decrements the use count of a template.
func (st *warmRoot) used(t *planTemplate) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t.uses--; t.gone {
		t.release()
	}
}

// forgetTemplate drops a template that no longer describes the machine, and discards the jails parked from it.
func (st *warmRoot) forgetTemplate(t *planTemplate) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if at := slices.Index(st.templates, t); at >= 0 {
		st.templates = slices.Delete(st.templates, at, at+1)
		t.release()
	}
	var errs []error
	for _, y := range st.pools {
		errs = append(errs, y.Remove(func(j *jail) bool { return j.from == t }))
	}
	return errors.Join(errs...)
}
