package nsjail

import (
	"cmp"
	"errors"
	"maps"
	"os"

	"brig/cgroup"
	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// jail is a jail's first process with the resources that the keeper holds for it. A parked jail belongs to no Cmd yet.
type jail struct {
	pid    int
	pidfd  *os.File
	report *os.File
	group  *cgroup.Group   // nil for none
	net    *warm.Namespace // the network namespace from the pool; nil for none
	from   *planTemplate   // nil for a jail without a prefix
	first  bool            // the first jail of a forked launcher

	// made maps each mechanism that differs from the Plan to what enforces it, or to the reason why it is not enforced.
	made map[string]string
}

// lose records that a mechanism could not be put into force.
func (j *jail) lose(name, why string) {
	j.made[name] = "not enforced: " + why + " (optional)"
	if name == "processes" {
		j.made[name] = "RLIMIT_NPROC in the user namespace (" + why + ")"
	}
}

// enforced returns what enforces each mechanism in this jail: Plan.Enforced with the changes in made.
func (c *Cmd) enforced() map[string]string {
	e := maps.Clone(c.plan.Enforced)
	maps.Copy(e, c.made)
	return e
}

// passedFDs are the descriptors that are sent to a jail, indexed by slot. The keeper closes them after sending.
type passedFDs struct {
	from program.Slot
	fds  []int
}

func (h *passedFDs) put(at program.Slot, fds ...int) {
	for i, fd := range fds {
		n := int(at-h.from) + i
		for len(h.fds) <= n {
			h.fds = append(h.fds, -1)
		}
		h.fds[n] = fd
	}
}

func (h *passedFDs) close() {
	for _, fd := range h.fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// spawn creates the jail's first process, which performs the prefix of j.from or, if that is nil, the whole program of
// cold. meanwhile, if not nil, runs while the launcher works. On error, spawn releases everything that it has created.
func (r *Runner) spawn(j *jail, p *plan.Plan, cold *Cmd, meanwhile func()) (err error) {
	h := &passedFDs{from: launcher.SlotReport}
	defer h.close()
	defer func() {
		if err != nil {
			err = errors.Join(err, j.discard())
		}
	}()
	j.made = map[string]string{}
	var theirs int
	if j.report, theirs, err = launcher.ReportSocket(); err != nil {
		return err
	}
	h.put(launcher.SlotReport, theirs)
	if err := j.fill(p, cold, h); err != nil {
		return err
	}
	if err := r.dropRoot(p); err != nil {
		return err
	}
	group, fds, into, err := makeGroup(p)
	j.group = group
	h.put(p.JoinAt, fds...)
	if err != nil {
		return err
	}
	if group != nil {
		for name, why := range group.Lost {
			j.lose(name, why)
		}
	}
	req := p.Request()
	if !into {
		req.Cgroup = -1
	}
	f, err := j.program(p, cold, req)
	if err != nil {
		return cloneError(p, err)
	}
	if j.from == nil || f != j.from.file {
		defer f.Close()
	}
	if err := r.mapByLauncher(j, p, f); err != nil {
		return err
	}
	if err := r.pass(p, j, h, j.from != nil); err != nil {
		return err
	}
	if j.pid, err = r.launcher.DoFile(f, meanwhile, h.fds...); err != nil {
		return cloneError(p, err)
	}
	// the netpoller waits on the pidfd, so a jail occupies no thread
	fd, err := unix.PidfdOpen(j.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		launcher.Reap(j.pid)
		return spec.HostError("pidfd_open", err.Error(), "raise the limit on open files (ulimit -n)")
	}
	j.pidfd = os.NewFile(uintptr(fd), "pidfd")
	return nil
}

// fill adds the descriptors beside those of the report socket, the control group and the passed mounts.
func (j *jail) fill(p *plan.Plan, cold *Cmd, h *passedFDs) error {
	if cold != nil && cold.ordered == nil {
		streams, err := cold.openStreams()
		h.put(p.Stdio, streams...)
		if err == nil {
			err = cold.fillCycle(h)
		}
		if err != nil {
			return err
		}
	}
	if j.net != nil {
		fd, err := j.net.Handle()
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		h.put(p.Netns, fd)
	}
	return nil
}

// program returns the encoded program for a request to the launcher.
func (j *jail) program(p *plan.Plan, cold *Cmd, req program.Request) (*launcher.File, error) {
	if cold != nil {
		cold.mark(momentPrepared)
		if err := cold.digestPlan(nil, req); err != nil {
			return nil, err
		}
	}
	if j.from != nil && req == p.Request() {
		return j.from.file, nil
	}
	// the whole program, or a prefix whose optional group could not be created
	return launcher.NewFile(cmp.Or(p.Prefix, p.Jail), req)
}

// discard kills a jail that no Cmd has taken, and releases its resources.
func (j *jail) discard() error {
	var errs []error
	if j.report != nil { // the first process exits when the socket closes
		errs = append(errs, j.report.Close())
	}
	if j.pidfd != nil {
		launcher.Reap(j.pid)
		errs = append(errs, j.pidfd.Close())
	}
	if j.group != nil {
		errs = append(errs, j.group.End())
	}
	j.net.Drop()
	return errors.Join(errs...)
}

// descriptor is a file descriptor as an io.Closer.
type descriptor int

func (d descriptor) Close() error { return unix.Close(int(d)) }

// fillCycle adds the two sockets that detachMounts needs, and keeps a duplicate of each until the jail ends.
func (c *Cmd) fillCycle(h *passedFDs) error {
	if c.plan.Cycle == 0 {
		return nil
	}
	sv, err := launcher.Socketpair(unix.SOCK_DGRAM)
	if err != nil {
		return err
	}
	h.put(c.plan.Cycle, sv[:]...)
	for _, fd := range sv {
		mine, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		c.closers = append(c.closers, descriptor(mine))
	}
	return nil
}
