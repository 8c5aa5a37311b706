package nsjail

import (
	"errors"
	"syscall"
	"time"

	"brig/cgroup"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"

	"golang.org/x/sys/unix"
)

// end waits for the end of the jail, and returns the facts. What remains open is for close. gone is called when all
// processes have ended; nil for nothing.
func (r *running) end(gone func()) (*ended, error) {
	e := &ended{group: cgroup.Unknown(), before: r.watch.before, disks: disksAtEnd{bytes: -1},
		bounds: boundsOf(r.spec, r.plan.Host.HardLimits["cpu"]), known: known{enforced: r.enforced(r.plan),
			notes: r.plan.Notes, image: r.spec.Rootfs.Image, seccomp: r.spec.Seccomp, taken: r.taken}}
	if !r.plan.Mode.Forked && r.box == nil {
		e.known.digest = r.spec.Digest()
	}
	if r.group != nil {
		r.jails.sweepGroups(r.plan.Host.Cgroup, r.spec.CgroupParent)
	}
	r.ender.seat.awaitEnd()
	err := r.readEnd(e)
	r.times.mark(momentEnded)
	r.watch.end()
	r.ender.done.Store(true)
	e.deeds.warned = r.ender.warned.Load()
	e.deeds.why = e.timely(cause(r.ender.cause.Load()))
	switch {
	case e.deeds.why != notEnded:
	case e.lost && r.box != nil:
		e.deeds.why = r.box.why()
	case r.box != nil && e.status != 0 && r.box.kills() > r.box.before:
		e.deeds.why = endedMemory
	case r.plan.Mode.Box && e.way.told: // Box.Close
		e.status = 0
	}
	err = errors.Join(err, r.endGroup(func() { r.readGroup(e) }),
		r.held.disks.count(&e.disks, e.deeds.why == endedDisk))
	e.replaced = r.held.guard.replaced(r.plan.Host)
	err = errors.Join(err, r.held.guard.release())
	if gone != nil {
		gone()
	}
	r.held.endStreams()
	r.collectFacts(e)
	changes, cerr := r.held.disks.take()
	e.changes = changes
	return e, errors.Join(err, cerr)
}

// readEnd reads init's last report and waits for the jail's first process, unless nothing has to wait for it.
func (r *running) readEnd(e *ended) (err error) {
	most, end := run.EndWait, &e.way
	if end.alone = r.Alone; !end.alone {
		rep, err := receiveEnd(&r.Process, e)
		if end.reported = err == nil && rep.Type == launcher.ReportExit; end.reported {
			e.status, e.usage = syscall.WaitStatus(rep.A), rep.Usage
			end.told, end.left = rep.B&launcher.EndAsked != 0, rep.B&launcher.EndLeft != 0
			e.recordExit(&rep, r.plan)
			if rep.B&launcher.EndStays != 0 {
				e.stays = r.box.stays(r.Pid)
			}
			if rep.Denied > 0 {
				e.calls.denied = r.Denied()
			}
		}
		if end.reported && !end.left {
			r.readGroup(e) // while the kernel takes init's namespaces apart
		}
	}
	if r.box != nil { // the first process is the box's
		e.lost = !end.reported
		return nil
	}
	if end.reported && r.plan.Stays { // init waits for the other processes of the jail, and nothing waits for init
		e.disks.bytes = -1
	} else if end.reported && !end.left && r.passes() {
		r.jails.collect(&r.jail)
	} else {
		if end.left { // init has already waited for EndWait
			most = time.Second
		}
		status, usage, werr := r.Wait(most)
		err = r.giveBack(werr)
		end.waited, e.deeds.gaveUp = err == nil, stuckBy(err)
		if !end.reported {
			e.status, e.usage, e.lost = syscall.WaitStatus(status), usage, !end.alone
		}
	}
	return err
}

// readGroup reads the group's statistics once.
func (r *running) readGroup(e *ended) {
	if r.group != nil && !e.counted {
		e.group, e.counted = r.group.Read(), true
	}
}

// recordExit records what init reports beside the payload's wait status: violations of the filter, and full disks.
func (e *ended) recordExit(rep *launcher.Report, p *plan.Plan) {
	e.lookup = egress.LookedUp(rep.Lookup[:])
	e.calls.violation, e.calls.listened = rep.Violation, p.Heard != nil
	at := &e.disks
	at.bytes = 0
	for i, targets := range p.Disks {
		d := &rep.Disks[i]
		at.bytes += d.Used
		if d.Full() {
			at.full = append(at.full, targets...)
		}
		at.met = at.met || d.Met()
		at.systems = append(at.systems, FileSystem{Targets: targets, Size: d.Size, Used: d.Used,
			Peak: d.Peak, Inodes: d.Inodes, Files: d.Files, PeakFiles: d.PeakFiles})
	}
}

// collectFacts adds what is known after the end of the streams.
func (r *running) collectFacts(e *ended) {
	d := &e.deeds
	d.asked, d.keyed = r.ender.asked.Load(), unix.Signal(r.ender.keyed.Load())
	if err := r.watch.uncounted.Load(); err != nil {
		d.uncounted = *err
	}
	e.over, e.output, e.last = r.held.meter.over.Load(), r.held.output(), r.held.streams.Desk().Last()
	e.unread = r.taken && !r.held.streams.TookFirst()
	e.network = r.held.relay.Close()
	e.wall, e.phases = r.times.wall(r.from != nil), r.times.phases()
}

// close releases what is left after the end, and returns the errors of the streams.
func (r *running) close() error {
	r.jails.forget(r)
	return errors.Join(r.Report.Close(), r.held.streams.Err())
}
