package nsjail

import (
	"errors"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// errStale means that the Spec's paths no longer lead to the files that the prefix shows.
var errStale = errors.New("the sources of the jail's prefix were replaced")

// warmStart is the state of one start in a prepared root.
type warmStart struct {
	cmd  *Cmd
	host *host.Host
	fds  passedFDs
	sent bool
}

// startWarm creates the jail in the launcher's prepared root. It takes a parked jail if one fits the Spec. Otherwise it
// sends the prefix at once, so that the launcher works while the keeper looks at the sources of the run.
func (c *Cmd) startWarm() error {
	w := &warmStart{cmd: c}
	defer w.close()
	j, err := w.jail()
	if err == nil && !w.sent {
		if err = w.send(j); err != nil {
			err = errors.Join(err, j.discard())
		}
	}
	if err != nil {
		return c.abandon(err)
	}
	c.mark(momentSpawned)
	c.jail = *j
	return c.follow()
}

// jail takes a parked jail, or spawns one, and plans its suffix.
func (w *warmStart) jail() (*jail, error) {
	r, s := w.cmd.runner, &w.cmd.Spec
	k, err := kindOf(s)
	if err != nil {
		return nil, err
	}
	for {
		j, err := r.tree.takeParked(k)
		if err != nil {
			return nil, err
		}
		if j == nil {
			break
		}
		if err = w.write(j.from); err == nil {
			return j, nil
		}
		err = errors.Join(err, j.discard())
		if !errors.Is(err, errStale) {
			return nil, err
		}
		if err := r.tree.forgetTemplate(j.from); err != nil {
			return nil, err
		}
	}
	j, err := r.park(s, k, w.meanwhile)
	if err == nil && !w.cmd.parked {
		r.growPool(j.from)
	}
	return j, err
}

// meanwhile plans the suffix while the launcher performs the prefix. If the suffix needs nothing from the launcher, it
// is sent before the jail waits for it: by then the keeper may have to wait for a processor.
func (w *warmStart) meanwhile(j *jail) error {
	err := w.write(j.from)
	if err == nil && len(w.cmd.plan.Passed) == len(j.from.prefix.Plan.Passed) {
		w.sent = true
		err = w.send(j)
	}
	return err
}

// write looks at the sources of the run and plans the suffix.
func (w *warmStart) write(t *planTemplate) (err error) {
	w.close()
	c := w.cmd
	if w.host, err = t.run(c, &c.Spec, c.runner.tree.mounts.Changes()); err != nil {
		return err
	}
	if err := errors.Join(c.runner.volumes.look(&c.Spec, w.host), c.openStores(w.host), c.makeGhosts(w.host)); err != nil {
		return err
	}
	if !t.sameSources(w.host) {
		return errStale
	}
	c.mark(momentLooked)
	if c.plan, err = t.prefix.Resolve(&c.Spec, w.host); err != nil {
		return err
	}
	c.mark(momentPlanned)
	w.fds.from = c.plan.Stdio
	streams, err := c.openStreams()
	w.fds.put(c.plan.Stdio, streams...)
	c.mark(momentPrepared)
	return err
}

// send makes the mounts that come with the suffix, and sends it. If the jail has failed earlier, send returns that
// error.
func (w *warmStart) send(j *jail) error {
	c := w.cmd
	if err := c.runner.pass(c.plan, j, &w.fds, false); err != nil {
		return err
	}
	if err := c.digestPlan(j.from, program.Request{}); err != nil {
		return err
	}
	err := sys.Control(j.report, func(fd int) error { return launcher.SendSuffix(fd, c.plan.Jail, w.fds.fds...) })
	var size program.SizeError
	remedy := "look for an out-of-memory kill in the kernel log"
	switch {
	case err == nil:
		return nil
	case errors.As(err, &size):
		return tooLarge(err)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		remedy = "raise the limit on open files (ulimit -n)"
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET):
		rep, fds, rerr := receive(j.report)
		for len(fds) > 0 { // other descriptors come before its failure
			launcher.CloseAll(fds)
			rep, _, rerr = receive(j.report)
		}
		if rerr == nil && rep.Type == launcher.ReportFail {
			return c.setupError(rep)
		}
	}
	return spec.HostError("launcher", "the rest of the program: "+err.Error(), remedy)
}

func (w *warmStart) close() {
	w.fds.close()
	w.fds = passedFDs{}
	if w.host != nil {
		_ = w.host.Close() // the descriptors were open for reading metadata only
		w.host = nil
	}
}

// park spawns a jail that performs the prefix of the Spec and waits for its suffix. meanwhile, if not nil, runs while
// the launcher works. A cached template may no longer describe the machine, so after a failure park discards it and
// tries once more with a new one.
func (r *Runner) park(s *spec.Spec, k *kind, meanwhile func(*jail) error) (*jail, error) {
	for {
		j := &jail{}
		if r.nets != nil && wantsPool(s) {
			j.net = r.nets.Take()
		}
		t, known, err := r.template(s, k, j.net != nil)
		if err != nil {
			return nil, errors.Join(err, j.discard())
		}
		j.from = t
		var later error
		written := false
		err = r.spawn(j, t.prefix.Plan, nil, func() {
			if meanwhile != nil {
				written, later = true, meanwhile(j)
			}
		})
		r.tree.used(t)
		if err == nil && later == nil {
			return j, nil
		}
		if err == nil {
			err = errors.Join(later, j.discard())
		}
		if !known || written && !errors.Is(later, errStale) { // the streams can be opened only once
			return nil, err
		}
		if err := r.tree.forgetTemplate(t); err != nil {
			return nil, err
		}
	}
}

// waits reports whether a parked jail still waits for its suffix: its end of the report socket is open.
func (j *jail) waits() bool {
	if q := j.from.prefix.Plan; q.Sockets == nil && len(q.Uppers) == 0 {
		return sys.Idle(j.report, unix.POLLIN) // without descriptors to send, it sends nothing but a failure
	}
	return sys.Idle(j.report, 0)
}
