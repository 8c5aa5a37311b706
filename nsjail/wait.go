package nsjail

import (
	"errors"
	"os"
	"syscall"
	"time"

	"brig/cgroup"
	"brig/internal/sys"
	"brig/netns/egress"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"

	"golang.org/x/sys/unix"
)

// errNoReport means that the far end of the report socket is closed everywhere.
var errNoReport = errors.New("no report")

// receive reads one message from the report socket: a report, or descriptors (network sockets, upper directories,
// terminal master) with their tag in rep.A.
func (c *Cmd) receive() (launcher.Report, []int, error) { return receive(c.report) }

func receive(report *os.File) (rep launcher.Report, fds []int, err error) {
	var buf [launcher.ReportSize]byte
	oob := make([]byte, unix.CmsgSpace(4*launcher.MaxFDs))
	var n, oobn int
	read := func(fd int) (err error) {
		n, oobn, _, _, err = unix.Recvmsg(fd, buf[:], oob, unix.MSG_CMSG_CLOEXEC)
		return err
	}
	if err = sys.Await(report, read); err == unix.ECONNRESET {
		// the jail failed with its suffix unread: the kernel reports this once, before it delivers the jail's messages
		err = sys.Await(report, read)
	}
	switch {
	case err != nil:
		return rep, nil, os.NewSyscallError("recvmsg", err)
	case n == 0:
		return rep, nil, errNoReport
	case oobn > 0:
		fds, err = launcher.Descriptors(oob[:oobn])
		rep.A = int(buf[0])
		return rep, fds, err
	}
	rep, err = launcher.ParseReport(buf[:n])
	return rep, nil, err
}

// receiveDenied reads init's counters of refused calls, which follow its last report. It returns nil if init was killed
// before it has sent them.
func (c *Cmd) receiveDenied() []uint64 {
	buf, n := make([]byte, launcher.DeniedSize+1), 0
	err := sys.Await(c.report, func(fd int) (err error) {
		n, err = unix.Read(fd, buf)
		return err
	})
	if err != nil {
		return nil
	}
	counts, _ := launcher.ParseDenied(buf[:n]) // nil with an error
	return counts
}

// waitPid waits for the jail's first process through its pidfd, and reaps it. The kernel lets that process end only
// after all other processes of the pid namespace. The wait is bounded by most.
func (c *Cmd) waitPid(most time.Duration) (status int, usage launcher.Usage, err error) {
	if !c.Spec.NoInit { // otherwise hurry sets the deadline, or the jail has ended
		if err := c.pidfd.SetReadDeadline(time.Now().Add(most)); err != nil {
			return 0, usage, err
		}
	}
	sampled := sampledTime(c.pid)
	ws, ru, err := c.reap()
	usage = launcher.UsageOf(&ru)
	usage.Sampled = sampled
	return int(ws), usage, err
}

// reap waits for the jail's first process until the deadline of the pidfd: wait4(2). Its pid cannot be reused before.
func (c *Cmd) reap() (ws unix.WaitStatus, ru unix.Rusage, err error) {
	err = sys.Await(c.pidfd, func(int) error {
		pid, err := unix.Wait4(c.pid, &ws, unix.WNOHANG|unix.WALL, &ru)
		if err == nil && pid == 0 {
			return unix.EAGAIN
		}
		return err
	})
	return ws, ru, os.NewSyscallError("wait4", err)
}

// sampledTime returns the processor time of a process as RLIMIT_CPU counts it (its CPUCLOCK_PROF,
// clock_getcpuclockid(3)), or 0 if the process is gone.
func sampledTime(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3), &t) // an error means that the process is gone
	return time.Duration(t.Nano())
}

// Wait waits until all processes of the jail have ended and all of its output has been copied. If a Runner's jail has
// neither a bind nor a control group, the kernel may still be dismantling its namespaces when Wait returns; Close waits
// for that. With ForkedRunner the kernel may still be dismantling the mounts, and nothing waits for them, unless they
// show files that the caller may want to unmount. If processes do not end within ten seconds of SIGKILL, Wait returns
// an *Error that names them and a Result with StatusError; everything else is released.
func (c *Cmd) Wait() (*Result, error) {
	if c.pidfd == nil || c.facts != nil {
		return nil, errors.New("nsjail: Wait before a successful Start, or twice")
	}
	c.facts = &ended{group: cgroup.Unknown(), before: c.state.before, disks: disksAtEnd{bytes: -1},
		bounds: boundsOf(&c.Spec, c.plan.Host.HardLimits["cpu"]), known: known{enforced: c.enforced(),
			notes: c.plan.Notes, image: c.Spec.Rootfs.Image, seccomp: c.Spec.Seccomp, taken: c.taken}}
	if !c.plan.Mode.Forked {
		c.facts.known.digest = c.Spec.Digest()
	}
	if c.group != nil {
		c.runner.sweepGroups(c.plan.Host.Cgroup, c.Spec.CgroupParent)
	}
	awaitEnd(c)
	return c.finish()
}

// awaitReport waits until the report socket, or without init the pidfd, is readable. It needs little stack: Go's
// garbage collector shrinks the stack of a goroutine that uses less than a quarter of it.
func (c *Cmd) awaitReport() {
	f := c.report
	if c.Spec.NoInit {
		f = c.pidfd
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return // the next read returns the error
	}
	_ = rc.Read(readable) // likewise
}

// readable reports whether a descriptor is readable or at its end: poll(2).
func readable(fd uintptr) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p[:], 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// finish does the rest of Wait after the first report has arrived.
func (c *Cmd) finish() (*Result, error) {
	e := c.facts
	err := c.readEnd(e)
	c.mark(momentEnded)
	c.unwatch()
	c.state.done.Store(true)
	e.deeds.warned = c.state.warned.Load()
	e.deeds.why = e.timely(cause(c.state.cause.Load()))
	err = errors.Join(err, c.endGroup(), c.countDisk(), c.removeGhosts())
	if c.Ended != nil {
		c.Ended()
	}
	c.endStreams()
	c.collectFacts(e)
	err = errors.Join(err, c.takeChanges())
	var herr error
	c.result, herr = resultOf(e)
	c.runner.forget(c)
	err = errors.Join(err, herr, c.report.Close(), c.streams.Err())
	c.runner.leave()
	if c.ownsRunner {
		err = errors.Join(err, c.runner.Close())
	}
	return c.result, err
}

// readEnd reads init's last report and waits for the jail's first process, unless nothing has to wait for it.
func (c *Cmd) readEnd(e *ended) (err error) {
	most, end := endWait, &e.way
	if end.alone = c.Spec.NoInit; !end.alone {
		rep, err := receiveEnd(c)
		if end.reported = err == nil && rep.Type == launcher.ReportExit; end.reported {
			e.status, e.usage = syscall.WaitStatus(rep.A), rep.Usage
			end.told, end.left = rep.B&launcher.EndAsked != 0, rep.B&launcher.EndLeft != 0
			e.recordExit(&rep, c.plan)
			if rep.Denied > 0 {
				e.calls.denied = c.receiveDenied()
			}
		}
		if c.counted = end.reported && !end.left && c.group != nil; c.counted {
			// while the kernel takes init's namespaces apart
			e.group = c.group.Read()
		}
	}
	if end.reported && c.plan.Stays { // init waits for the other processes of the jail, and nothing waits for init
		e.disks.bytes = -1
	} else if end.reported && !end.left && c.passes() {
		c.runner.collect(c)
	} else {
		if end.left { // init has already waited for endWait
			most = time.Second
		}
		status, usage, werr := c.waitPid(most)
		err = c.giveBack(werr)
		end.waited, e.deeds.gaveUp = err == nil, stuckBy(err)
		if !end.reported {
			e.status, e.usage, e.lost = syscall.WaitStatus(status), usage, !end.alone
		}
	}
	return err
}

// collectFacts adds what is known after the end of the streams.
func (c *Cmd) collectFacts(e *ended) {
	d := &e.deeds
	d.asked, d.keyed = c.state.asked.Load(), unix.Signal(c.state.keyed.Load())
	if err := c.state.uncounted.Load(); err != nil {
		d.uncounted = *err
	}
	e.over, e.output, e.last = c.state.over.Load(), c.outputCounts(), c.streams.Last()
	e.unread = c.taken && !c.streams.TookFirst()
	e.network = c.network.close()
	e.wall, e.phases = c.marks[momentEnded].Sub(c.begun()), c.phases()
}

// passes reports whether Wait may return before the namespaces of the jail are gone, which takes the kernel some tenths
// of a millisecond. It may if init has reported, no other process is left, and the namespaces hold nothing that the
// caller may want to unmount.
func (c *Cmd) passes() bool {
	return !c.ownsRunner && c.runner.tree != nil && c.group == nil && c.ghosts == nil && c.plan.SourcesStay() &&
		c.plan.Flags&unix.CLONE_NEWPID != 0
}

// collect waits in the background for the first process of such a jail.
func (r *Runner) collect(c *Cmd) {
	r.ending.Add(1)
	go func() {
		defer r.ending.Done()
		_, _, err := c.waitPid(endWait)
		_ = c.giveBack(err) // no caller waits for the error
	}()
}

// begun returns when the jail's work could begin. The reported processor time includes the payload process's set-up.
func (c *Cmd) begun() time.Time {
	if c.from != nil { // the prefix was sent first
		return c.marks[momentStarted]
	}
	return c.marks[momentPrepared]
}

func (c *Cmd) phases() Phases {
	from := func(m moment) int64 { return c.marks[m+1].Sub(c.marks[m]).Microseconds() }
	return Phases{Look: from(momentStarted), Resolve: from(momentLooked), Prepare: from(momentPlanned),
		Spawn: from(momentPrepared), Exec: from(momentSpawned), Run: from(momentExecuted),
		End: time.Since(c.marks[momentEnded]).Microseconds()}
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
