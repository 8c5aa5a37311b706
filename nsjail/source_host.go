package nsjail

import (
	"context"
	"errors"
	"os"
	"sync"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
)

// hostRoot makes jails from the host's root.
type hostRoot struct {
	*hostRoots
	edit func(*plan.Plan) // lets a test change the plan
}

// take creates the jail, and waits for its payload.
func (s hostRoot) take(ctx context.Context, a *attempt) (*running, error) {
	h, err := host.LookWithin(ctx, a.setUpEnd(), a.spec)
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }() // its descriptors are open for reference only
	by, err := s.spawner(h.Owner)
	if err != nil {
		return nil, err
	}
	if h, err = a.held.prepare(a.spec, h, by.volumes); err != nil {
		return nil, err
	}
	j, err := s.create(a, by, h)
	if err != nil {
		return nil, err
	}
	r := a.running(j, a.spec.Net != spec.NetHost && a.spec.Tier != spec.TierProcess)
	return r, r.follow(ctx)
}

// create plans the jail and creates its first process.
func (s hostRoot) create(a *attempt, by *spawner, h *host.Host) (*jail, error) {
	first, err := by.begin()
	if err != nil {
		return nil, err
	}
	if first {
		defer by.first.Unlock()
	}
	mode := by.mode()
	mode.Terminal, mode.Box = a.seats(), a.living
	if s.why != "" {
		mode.Note = "made from the host's tree, which takes longer: " + s.why
	}
	a.times.mark(momentLooked)
	if a.living {
		a.plan, a.processes, err = mode.ResolveBox(a.spec, h)
	} else {
		a.plan, err = mode.ResolveChecked(a.spec, h)
	}
	if err != nil {
		return nil, err
	}
	if s.edit != nil {
		s.edit(a.plan)
	}
	a.times.mark(momentPlanned)
	fds := &passedFDs{from: launcher.SlotReport}
	streams, err := a.held.openStreams(a.plan)
	fds.put(a.plan.Stdio, streams...)
	if err == nil {
		err = a.held.openCycle(a.plan, fds)
	}
	if err != nil {
		fds.close()
		return nil, err
	}
	return a.spawn(by, order{plan: a.plan, fds: fds, first: first})
}

// hostRoots are the spawners of a Runner for jails that start from the host's root.
type hostRoots struct {
	bare *spawner // nil: the Runner's is in a prepared root
	why  string   // why it is not, although the Runner wants it; or ""

	volumes *volumeHelper
	mu      sync.Mutex
	others  map[int]*spawner // by Host.Owner
	closed  bool
}

// spawner returns the spawner for jails that start from the host's root. owner is Host.Owner: the uid of a bind's owner
// that the payload must have, or 0 for any other uid. Each owner needs a launcher of its own, since a launcher changes
// its uid once.
func (s *hostRoots) spawner(owner int) (*spawner, error) {
	if s.bare != nil && owner == 0 {
		return s.bare, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, os.ErrClosed
	}
	if other := s.others[owner]; other != nil {
		return other, nil
	}
	l, err := startLauncher()
	if err != nil {
		return nil, err
	}
	if s.others == nil {
		s.others = map[int]*spawner{}
	}
	s.others[owner] = newSpawner(l, s.volumes)
	return s.others[owner], nil
}

// close ends the launchers beside the Runner's own.
func (s *hostRoots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for _, other := range s.others {
		errs = append(errs, other.close())
	}
	return errors.Join(errs...)
}
