package nsjail

import (
	"cmp"
	"errors"
	"os"
	"sync"

	"brig/internal/program"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// spawner makes the first processes of jails through one launcher, and knows what that has become.
type spawner struct {
	launcher *launcher.Launcher
	helper   *warm.MountHelper // nil without a prepared root
	volumes  *volumeHelper

	mu      sync.Mutex
	dropped *host.Host     // the identity that the launcher has assumed, if the caller is root
	idmaps  map[[2]int]int // user namespaces for idmapped mounts, by the source's uid and gid

	first   sync.Mutex // held by the first start at a forked launcher until the launcher has made the jail's process
	begun   bool       // that start has begun
	mapping bool       // the launcher is in one of idmaps, and can make no other jail
}

func newSpawner(l *launcher.Launcher, volumes *volumeHelper) *spawner {
	return &spawner{launcher: l, volumes: volumes, idmaps: map[[2]int]int{}}
}

func startLauncher() (*launcher.Launcher, error) {
	l, err := launcher.Start()
	if err != nil {
		return nil, spec.HostError("launcher", err.Error(),
			"see that /proc is mounted and that processes can be started")
	}
	return l, nil
}

// replace starts a new launcher in place of one that can make no jail.
func (s *spawner) replace() error {
	fresh, err := startLauncher()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.launcher
	s.launcher, s.dropped, s.mapping = fresh, nil, false
	return old.Close()
}

// begin reports whether a start is the first at a forked launcher, and then holds s.first for it. The others wait for
// that one, and replace the launcher if it has left that in a user namespace for idmapped mounts.
func (s *spawner) begin() (first bool, err error) {
	s.first.Lock()
	if s.launcher.Forked && !s.begun {
		s.begun = true
		return true, nil
	}
	defer s.first.Unlock()
	if s.mapping {
		err = s.replace()
	}
	return false, err
}

// mode returns the Mode of the next jail.
func (s *spawner) mode() (m plan.Mode) {
	m.Forked = s.launcher.Forked
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped != nil { // a launcher assumes one unprivileged identity only
		m.UID, m.GID = s.dropped.PayloadUID, s.dropped.PayloadGID
	}
	return m
}

// dropRoot makes the launcher assume the unprivileged identity of root's payloads. A launcher does so once.
func (s *spawner) dropRoot(p *plan.Plan) error {
	if p.Drop == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped != nil {
		return nil
	}
	uid, err := s.launcher.UID()
	if err != nil {
		return err
	}
	if uid == p.Host.PayloadUID { // a launcher that was forked early has done so itself
		s.dropped = p.Host
		return nil
	}
	if err = launcher.Perform(s.launcher, "drop", p.Drop); err == nil {
		s.dropped = p.Host
	}
	return err
}

// order is what the launcher is to make.
type order struct {
	plan  *plan.Plan
	fds   *passedFDs // what the jail gets beside the report socket, its control group and passed mounts; spawn closes them
	first bool       // it is the first jail of a forked launcher
	// prepared, if not nil, is called when all is ready for a request to the launcher.
	prepared func(program.Request) error
	// meanwhile, if not nil, runs while the launcher works.
	meanwhile func()
}

// spawn creates the jail's first process, which performs the prefix of j.from or, if that is nil, the whole program. On
// error, spawn releases everything that it has created.
func (s *spawner) spawn(j *jail, o order) (err error) {
	p, h := o.plan, o.fds
	defer h.close()
	defer func() {
		if err != nil {
			err = errors.Join(err, j.discard())
		}
	}()
	j.made = map[string]spec.Text{}
	var theirs int
	if j.Report, theirs, err = launcher.ReportSocket(); err != nil {
		return err
	}
	h.put(launcher.SlotReport, theirs)
	if j.net != nil {
		fd, err := j.net.Handle()
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		h.put(p.Netns, fd)
	}
	if err := s.dropRoot(p); err != nil {
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
	return s.launch(j, &o, req)
}

// launch makes the launcher perform an order.
func (s *spawner) launch(j *jail, o *order, req program.Request) (err error) {
	p := o.plan
	if o.prepared != nil {
		if err := o.prepared(req); err != nil {
			return cloneError(p, err)
		}
	}
	f, shared, err := j.program(p, req)
	if err != nil {
		return cloneError(p, err)
	}
	if !shared {
		defer f.Close()
	}
	if o.first {
		if err := s.mapByLauncher(p, f); err != nil {
			return err
		}
	}
	if err := s.pass(p, j, o.fds, j.from != nil); err != nil {
		return err
	}
	if j.Pid, err = s.launcher.DoFile(f, o.meanwhile, o.fds.fds...); err != nil {
		return cloneError(p, err)
	}
	// the netpoller waits on the pidfd, so a jail occupies no thread
	fd, err := unix.PidfdOpen(j.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		launcher.Reap(j.Pid)
		return spec.HostError("pidfd_open", err.Error(), "raise the limit on open files (ulimit -n)")
	}
	j.Pidfd = os.NewFile(uintptr(fd), "pidfd")
	return nil
}

// program returns the encoded program for a request to the launcher, and whether other jails share it.
func (j *jail) program(p *plan.Plan, req program.Request) (f *launcher.File, shared bool, err error) {
	if j.from != nil && req == p.Request() {
		return j.from.file, true, nil
	}
	// the whole program, or a prefix whose optional group could not be created
	f, err = launcher.NewFile(cmp.Or(p.Prefix, p.Jail), req)
	return f, false, err
}

// close ends the launcher and its helper.
func (s *spawner) close() error {
	var errs []error
	if s.helper != nil {
		errs = append(errs, s.helper.Close())
	}
	for _, fd := range s.idmaps {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(append(errs, s.launcher.Close())...)
}
