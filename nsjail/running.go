package nsjail

import (
	"context"
	"errors"
	"os"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// running is a jail whose first process exists, with all that the keeper holds for it until its end.
type running struct {
	jail
	spec   *spec.Spec
	plan   *plan.Plan
	digest string // see Cmd.PlanDigest
	held   *holdings
	times  times
	ender  ender
	watch  watch
	jails  *registry

	processes *plan.Box // of a box; nil for another jail

	box    *within // of which it is a process; nil for a jail
	parked bool    // its payload waits for a run
	taken  bool    // its payload was parked
	simple bool    // an error of its set-up names the step alone
}

// follow registers the jail, watches for memory kills, and waits for the payload's start. A jail whose set-up fails is
// killed.
func (r *running) follow(ctx context.Context) error {
	err := r.jails.add(r)
	if err == nil && !r.parked {
		err = r.watch.watchOOM()
	}
	if err == nil {
		err = r.confirm(ctx)
	}
	if err == nil {
		return nil
	}
	return r.undo(err)
}

// undo kills the jail, and releases what the kernel and the Runner hold for it.
func (r *running) undo(err error) error {
	r.ender.kill()
	_, _, werr := r.Wait(run.EndWait)
	r.watch.end()
	r.jails.forget(r)
	r.Close()
	r.net.Drop()
	return errors.Join(err, r.endGroup(nil), werr)
}

// confirm waits for the first report: a failed operation, or the payload's start. A parked payload has no clocks.
func (r *running) confirm(ctx context.Context) error {
	if !r.parked {
		r.watch.start(ctx, r.times[momentPrepared])
	}
	rep, fds, err := r.Receive()
	for len(fds) > 0 { // they come before the first report
		if err := r.held.receive(r.plan, rep.A, fds); err != nil {
			return err
		}
		rep, fds, err = r.Receive()
	}
	switch {
	case r.box != nil && errors.Is(err, run.ErrNoReport):
		return os.ErrProcessDone
	case err == nil && rep.Type == launcher.ReportExec, errors.Is(err, run.ErrNoReport) && (r.Alone || r.outgrown()):
		if r.box != nil {
			r.Pid = rep.A
		}
		if !r.parked {
			r.runs()
		}
		if r.from != nil { // free the program of a running jail; whole encodes it again
			p := *r.plan
			p.Jail = nil
			r.plan = &p
		}
		return nil
	case err == nil && rep.Type == launcher.ReportFail:
		f := failure{Spec: r.spec, plan: r.plan, simple: r.simple, inBox: r.box != nil}
		return f.setupError(rep)
	case err == nil: // impossible: ReportExec comes first
		return &spec.Error{Fault: spec.FaultBrig, Op: "report", Detail: "out of order"}
	}
	return r.interrupted(ctx)
}

// setUpMemory is more than a start takes for itself: some 500 KiB, and more with many mounts.
const setUpMemory = 4 << 20

// outgrown reports whether the kernel has killed init for lack of memory after the payload's start, and before init
// could report that: on a busy machine a payload can fill its memory in that time, and init is as good a victim as
// any. Under a small limit it is the set-up that lacks memory.
func (r *running) outgrown() bool {
	return r.group != nil && r.spec.Limits.Memory >= setUpMemory && r.group.OOMKills() > 0 &&
		(r.ender.cause.Load() == int32(notEnded) || r.ender.cause.Load() == int32(endedMemory))
}

// runs begins what follows the payload's start.
func (r *running) runs() {
	r.times.mark(momentExecuted)
	r.ender.running.Store(true)
	r.watch.payload()
	r.held.streams.Start(r.Pidfd)
}

// interrupted returns the error for a jail that the keeper ended during its set-up, or whose first process was killed
// before the payload started.
func (r *running) interrupted(ctx context.Context) error {
	switch why := cause(r.ender.cause.Load()); {
	case why == endedWall:
		return spec.HostError("set-up", "took longer than the wall-clock limit", "raise "+words.Field("limits.wall"))
	case why == endedCancel:
		return ctx.Err()
	case r.group != nil && r.group.OOMKills() > 0:
		return &spec.Error{Fault: spec.FaultCaller, Op: "limits.memory",
			Detail: "it is too little to make the jail in: out of memory before the payload started",
			Remedy: "raise it: a jail takes some 400 KiB for itself"}
	}
	return spec.HostError("set-up", "the jail's first process was killed before the payload started",
		"look for an out-of-memory kill in the kernel log")
}

// endGroup removes the control group. If read is set, it is called with the group before. No process can be left in it
// after the end of the pid namespace.
func (r *running) endGroup(read func()) error {
	if r.group == nil {
		return nil
	}
	var stopped error
	if r.watch.stopOOM != nil {
		stopped = r.watch.stopOOM()
	}
	if read != nil {
		read()
	}
	if err := errors.Join(stopped, r.group.End()); err != nil {
		return &spec.Error{Fault: spec.FaultHost, Op: "cgroup", Detail: words.Plain(err.Error())}
	}
	return nil
}

// whole returns the plan with its program.
func (r *running) whole() *plan.Plan {
	if r.plan.Jail != nil {
		return r.plan
	}
	p, err := r.from.prefix.Resolve(r.plan.Spec, r.plan.Host)
	if err != nil { // impossible: the same suffix has been planned before
		return nil
	}
	return p
}

// countsNetlink reports whether the messages that wait in netlink sockets count against a jail's limit on memory: no
// control group counts them. The kernel shows them by network namespace, so they are counted only if the jail has one
// of its own.
func (r *running) countsNetlink(own bool) bool {
	_, lost := r.made["memory"]
	return own && !lost && r.spec.Limits.Memory > 0 && strings.HasPrefix(r.plan.Enforced["memory"].String(), "cgroup")
}

// passes reports whether Wait may return before the namespaces of the jail are gone, which takes the kernel some tenths
// of a millisecond. It may if init has reported, no other process is left, and the namespaces hold nothing that the
// caller may want to unmount.
func (r *running) passes() bool {
	return r.jails.early && r.group == nil && r.held.guard.ghosts == nil && r.plan.SourcesStay() &&
		r.plan.Flags&unix.CLONE_NEWPID != 0
}

// waits reports whether a parked payload still runs and waits for its handover.
func (r *running) waits() bool {
	return !(r.group != nil && r.group.OOMKills() > 0) && sys.Idle(r.Report, unix.POLLIN) &&
		sys.Idle(r.Pidfd, unix.POLLIN) && r.held.streams.Silent()
}

// discard ends a parked payload that no run has taken.
func (r *running) discard() error {
	err := r.jail.discard()
	r.held.streams.End()
	return err
}
