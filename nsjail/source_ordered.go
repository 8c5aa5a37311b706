package nsjail

import (
	"context"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ordered"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// orderedSteps makes a jail that is described in steps: see Runner.CommandOrdered.
type orderedSteps struct {
	by      *spawner
	jail    *steps.Jail
	spawned func(pid int) error // or nil
}

// take creates the jail, and waits for its payload.
func (s orderedSteps) take(ctx context.Context, a *attempt) (*running, error) {
	if err := host.SameIDs(); err != nil { // it is not forked then
		return nil, err
	}
	if !s.by.launcher.Forked {
		return nil, spec.HostError("launcher", "it could not be forked before the program started",
			"raise the limits on processes and open files (ulimit -u, ulimit -n)")
	}
	h, err := s.lookBounds(a.spec)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	facts, err := ordered.Look(s.jail, h, s.by.launcher.Pid())
	if err != nil {
		return nil, err
	}
	a.times.mark(momentLooked)
	if a.plan, err = s.resolve(a.spec, h, facts); err != nil {
		return nil, err
	}
	a.times.mark(momentPlanned)
	if a.plan.Drop != nil {
		if err := launcher.Perform(s.by.launcher, "namespaces", a.plan.Drop); err != nil {
			return nil, err
		}
		a.plan.Drop = nil
	}
	j, err := a.spawn(s.by, order{plan: a.plan, fds: &passedFDs{from: launcher.SlotReport}})
	if err != nil {
		return nil, err
	}
	r := a.running(j, s.jail.NewNet || a.spec.Net == spec.NetEgress)
	r.simple = true
	if err := s.release(a, r, facts.Inherited); err != nil {
		return nil, r.undo(err)
	}
	return r, r.follow(ctx)
}

// resolve plans the jail.
func (s orderedSteps) resolve(jail *spec.Spec, h *host.Host, facts *ordered.Facts) (*plan.Plan, error) {
	bounds, err := plan.Bounds(jail, h)
	if err == nil {
		s.jail.Filters, err = s.filters(h)
	}
	if err != nil {
		return nil, err
	}
	return ordered.Resolve(s.jail, facts, bounds)
}

// release lets the first process go on. inherited are the caller's descriptors that the launcher has.
func (s orderedSteps) release(a *attempt, r *running, inherited []int) error {
	if r.Alone && !a.plan.Stays { // the launcher guards the jail, and must hold no descriptor of the caller's
		if err := closeAll(s.by.launcher, inherited); err != nil {
			return err
		}
	}
	if s.spawned == nil {
		return nil
	}
	if err := s.spawned(r.Pid); err != nil {
		return err
	}
	return r.Tell(0)
}

// closeAll closes descriptors in a launcher but the standard streams, which this process holds, too.
func closeAll(l *launcher.Launcher, fds []int) error {
	p := program.New(int(launcher.SlotUser))
	for _, fd := range fds {
		if fd > 2 {
			p.Add("descriptors", unix.SYS_CLOSE, program.Int(fd))
		}
	}
	return launcher.Perform(l, "descriptors", p)
}

// lookBounds reads what the limits, the network and the filter of an ordered jail need of the machine.
func (s orderedSteps) lookBounds(jail *spec.Spec) (*host.Host, error) {
	if s.jail.Bounded() || jail.Seccomp != "unconfined" {
		like := *jail
		like.NoInit = !s.jail.HasInit() // so that a payload that is process 1 may set its own priority
		return host.Look(&like)
	}
	return host.LookVersion()
}

// filters returns the filters of an ordered jail, the first to load first: brig's own, that of a profile, the caller's.
func (s orderedSteps) filters(h *host.Host) (list [][]byte, err error) {
	own, err := seccomp.OpenFilter()
	if err != nil {
		return nil, err
	}
	if list = append(list, own); h.Filter != nil {
		list = append(list, h.Filter)
	}
	return append(list, s.jail.Filters...), nil
}
