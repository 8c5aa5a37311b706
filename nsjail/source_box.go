package nsjail

import (
	"context"
	"slices"

	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"
)

// boxProcess makes processes of a box that lives.
type boxProcess struct{ box *Box }

// take has the box's init make the process, and waits until it has executed its command.
func (s boxProcess) take(ctx context.Context, a *attempt) (*running, error) {
	if err := s.box.check(a.spec); err != nil {
		return nil, err
	}
	if s.box.frozen.Load() {
		return nil, errFrozen()
	}
	passed, term, err := host.LookEnv(a.spec)
	if err != nil {
		return nil, err
	}
	a.times.mark(momentLooked)
	a.plan = s.box.plan.Resolve(a.spec, passed, term, a.held.streams.Null())
	a.times.mark(momentPlanned)
	j := &jail{made: map[string]spec.Text{}}
	fds := &passedFDs{from: launcher.SlotReport}
	defer fds.close()
	theirs := -1
	if j.Report, theirs, err = launcher.ReportSocket(); err != nil {
		return nil, err
	}
	j.InBox = true
	fds.put(launcher.SlotReport, theirs)
	streams, err := a.held.openStreams(a.plan)
	fds.put(a.plan.Stdio, slices.DeleteFunc(streams, func(fd int) bool { return fd < 0 })...)
	a.times.mark(momentPrepared)
	if err == nil {
		err = s.box.perform(a.plan.Jail, fds.fds...)
	}
	a.times.mark(momentSpawned)
	if err != nil {
		_ = j.Report.Close() // init has not got the other end
		return nil, err
	}
	fds.close()
	fds.fds = nil // the end of the far end is an end
	r := a.running(j, false)
	return r, r.follow(ctx)
}
