package nsjail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"brig/internal/program"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
)

// attempt is the start of one jail: what is wanted, and what has been done about it so far. A source makes it a running
// jail.
type attempt struct {
	spec       *spec.Spec
	handover   *Handover // nil for none
	parked     bool      // the payload is to wait for a run
	living     bool      // the jail is a box
	processes  *plan.Box // what plans those of a box
	box        *within   // the box in which the process starts; nil for a jail
	wantDigest bool
	jails      *registry
	made       func(*running) // is called when the jail's first process exists; or nil

	held     *holdings
	times    times
	plan     *plan.Plan // nil until it is made
	digest   string     // see Cmd.PlanDigest
	kind     *kind      // see kindOf
	terminal int        // see seats; -1 until it is known
}

// newAttempt returns an attempt that begins now.
func newAttempt(s *spec.Spec) *attempt {
	a := &attempt{spec: s, held: &holdings{}, terminal: -1}
	a.times.mark(momentStarted)
	return a
}

// wire sets the payload's streams, and what happens with them.
func (a *attempt) wire(in io.Reader, out, errs io.Writer) {
	l, h := &a.spec.Limits, a.held
	m, s := &h.meter, &h.streams
	m.limit, m.idle, m.began = int64(l.OutputLimit), time.Duration(l.Idle), a.times[momentStarted]
	s.In, s.Out, s.TTY = in, [2]io.Writer{out, errs}, a.spec.TTY
	s.Keep, s.Read, s.Count = int64(l.Output), readingOf(a), m.count
}

// readingOf returns how the keeper reads the output.
func readingOf(a *attempt) run.Reading {
	switch {
	case a.box != nil:
		return run.Pipes
	case a.spec.Limits.NeedsCopies() || a.parked:
		return run.Copies
	}
	return run.Lends
}

// seats returns 1 more than the number of the first stream that is the caller's controlling terminal, if the payload
// can have one in its place, or 0. Job control needs init: a jail without it has a pipe there.
func (a *attempt) seats() int {
	if a.terminal < 0 {
		a.terminal = 0
		if s := &a.held.streams; !a.spec.TTY && !a.spec.NoInit && !a.parked && a.box == nil {
			a.terminal = run.Controlling(s.In, s.Out, s.Read > run.Lends)
		}
	}
	return a.terminal
}

// setUpEnd returns when the time of a jail that is being made is over, or the zero time if that is not bounded.
func (a *attempt) setUpEnd() (end time.Time) {
	if wall := time.Duration(a.spec.Limits.Wall); wall > 0 {
		end = a.times[momentStarted].Add(wall)
	}
	return end
}

// kindOf returns the kind of the Spec.
func (a *attempt) kindOf() (k *kind, err error) {
	if a.kind == nil {
		if a.kind, err = kindOf(a.spec); err == nil {
			a.kind.living = a.living
		}
	}
	return a.kind, err
}

// digestPlan records the digest of what the launcher performs: the program, or its two parts, and the passed mounts.
func (a *attempt) digestPlan(t *planTemplate, r program.Request) error {
	if !a.wantDigest {
		return nil
	}
	sum, err := digestOf(a.plan.Jail, r)
	if err != nil {
		return err
	}
	if t != nil {
		prefix, err := t.digest()
		if err != nil {
			return err
		}
		both := sha256.Sum256(append(prefix[:len(prefix):len(prefix)], sum...))
		sum = both[:]
	}
	h := sha256.New()
	h.Write(sum)
	for _, m := range a.plan.Passed { // the program does not contain the mounts passed by descriptor
		src := a.plan.Host.Sources.At(m.Source)
		fmt.Fprintf(h, "\n%q %#x %v %q %d %d %q %q", m.Source, m.Attr, m.IDMap, m.Target, src.Dev, src.Ino, src.Volume,
			src.Below)
	}
	a.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// spawn creates the first process of a jail without a prefix.
func (a *attempt) spawn(by *spawner, o order) (*jail, error) {
	j := &jail{}
	o.prepared = func(req program.Request) error {
		a.times.mark(momentPrepared)
		return a.digestPlan(nil, req)
	}
	err := by.spawn(j, o)
	a.times.mark(momentSpawned)
	return j, err
}

// running returns the jail of the attempt, whose first process exists. ownNet reports whether it has a network
// namespace of its own.
func (a *attempt) running(j *jail, ownNet bool) *running {
	l := &a.spec.Limits
	r := &running{jail: *j, spec: a.spec, plan: a.plan, digest: a.digest, held: a.held, times: a.times, jails: a.jails,
		parked: a.parked, box: a.box, processes: a.processes}
	r.Alone = a.spec.NoInit
	r.ender.first, r.ender.group, r.ender.tier, r.ender.grace = &r.Process, r.group, a.spec.Tier, time.Duration(l.Grace)
	r.ender.seat = seat{&a.held.streams, &r.Process}
	w := &r.watch
	w.ender, w.meter, w.disks, w.limits, w.plan = &r.ender, &a.held.meter, &a.held.disks, l, a.plan
	w.netlink = r.countsNetlink(ownNet)
	a.held.meter.end = r.ender.endFor
	if a.made != nil {
		a.made(r)
	}
	return r
}
