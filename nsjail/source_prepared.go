package nsjail

import (
	"context"
	"errors"

	"brig/nsjail/spec"
)

// preparedRoot makes jails in a Runner's prepared root. It sends the prefix at once, so that the launcher works while
// the keeper looks at the sources of the run.
type preparedRoot struct{ root *warmRoot }

// take creates the jail, and waits for its payload.
func (s preparedRoot) take(ctx context.Context, a *attempt) (*running, error) {
	if !s.root.fits(a) {
		return nil, nil
	}
	k, err := a.kindOf()
	if err != nil {
		return nil, err
	}
	w := &suffix{root: s.root, attempt: a}
	defer w.close()
	sent := false
	// meanwhile plans the suffix while the launcher performs the prefix. If the suffix needs nothing from the launcher,
	// it is sent before the jail waits for it: by then the keeper may have to wait for a processor.
	meanwhile := func(j *jail) error {
		err := w.write(ctx, j.from)
		if err == nil && len(a.plan.Passed) == len(j.from.prefix.Plan.Passed) {
			sent = true
			err = w.send(j)
		}
		return err
	}
	j, err := s.root.park(a.spec, k, meanwhile)
	if err != nil {
		return nil, err
	}
	if !a.parked && !a.living {
		s.root.growPool(j.from)
	}
	if !sent {
		if err := w.send(j); err != nil {
			return nil, errors.Join(err, j.discard())
		}
	}
	return s.root.run(ctx, a, j)
}

// parkedJail takes jails that are made already and wait for their suffix.
type parkedJail struct{ root *warmRoot }

// take hands a parked jail its suffix, and waits for its payload.
func (s parkedJail) take(ctx context.Context, a *attempt) (*running, error) {
	if a.living || !s.root.fits(a) {
		return nil, nil
	}
	k, err := a.kindOf()
	if err != nil {
		return nil, err
	}
	w := &suffix{root: s.root, attempt: a}
	defer w.close()
	for {
		j, err := s.root.takeParked(k)
		if j == nil || err != nil {
			return nil, err
		}
		if err = w.write(ctx, j.from); err == nil {
			err = w.send(j)
			if err == nil {
				return s.root.run(ctx, a, j)
			}
			return nil, errors.Join(err, j.discard())
		}
		err = errors.Join(err, j.discard())
		if !errors.Is(err, errStale) {
			return nil, err
		}
		if err := s.root.forgetTemplate(j.from); err != nil {
			return nil, err
		}
	}
}

// fits reports whether the jail of an attempt can start in the prepared root.
func (st *warmRoot) fits(a *attempt) bool {
	return st != nil && preparable(a.spec) && a.seats() == 0
}

// run waits for the payload of a jail that has its suffix.
func (st *warmRoot) run(ctx context.Context, a *attempt, j *jail) (*running, error) {
	a.times.mark(momentSpawned)
	r := a.running(j, a.spec.Net != spec.NetHost)
	return r, r.follow(ctx)
}
