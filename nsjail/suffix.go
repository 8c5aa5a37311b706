package nsjail

import (
	"context"
	"errors"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// suffix is the part of a program that a jail in a prepared root gets for one run.
type suffix struct {
	root    *warmRoot
	attempt *attempt
	host    *host.Host
	fds     passedFDs
}

// write looks at the sources of the run and plans the suffix.
func (w *suffix) write(ctx context.Context, t *planTemplate) (err error) {
	w.close()
	a := w.attempt
	if w.host, err = t.run(ctx, a.setUpEnd(), a.spec, w.root.mounts.Changes()); err != nil {
		return err
	}
	if w.host, err = a.held.prepare(a.spec, w.host, w.root.spawner.volumes); err != nil {
		return err
	}
	if !t.sameSources(w.host) {
		return errStale
	}
	a.times.mark(momentLooked)
	if a.living {
		a.plan, a.processes, err = t.prefix.ResolveBox(a.spec, w.host)
	} else {
		a.plan, err = t.prefix.Resolve(a.spec, w.host)
	}
	if err != nil {
		return err
	}
	a.times.mark(momentPlanned)
	w.fds.from = a.plan.Stdio
	streams, err := a.held.openStreams(a.plan)
	w.fds.put(a.plan.Stdio, streams...)
	a.times.mark(momentPrepared)
	return err
}

// send makes the mounts that come with the suffix, and sends it. If the jail has failed earlier, send returns that
// error.
func (w *suffix) send(j *jail) error {
	a := w.attempt
	if err := w.root.spawner.pass(a.plan, j, &w.fds, false); err != nil {
		return err
	}
	if err := a.digestPlan(j.from, program.Request{}); err != nil {
		return err
	}
	err := sys.Control(j.Report, func(fd int) error { return launcher.SendSuffix(fd, a.plan.Jail, w.fds.fds...) })
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
		rep, fds, rerr := j.Receive()
		for len(fds) > 0 { // other descriptors come before its failure
			launcher.CloseAll(fds)
			rep, _, rerr = j.Receive()
		}
		if rerr == nil && rep.Type == launcher.ReportFail {
			f := failure{Spec: a.spec, plan: a.plan}
			return f.setupError(rep)
		}
	}
	return spec.HostError("launcher", "the rest of the program: "+err.Error(), remedy)
}

func (w *suffix) close() {
	w.fds.close()
	w.fds = passedFDs{}
	if w.host != nil {
		_ = w.host.Close() // the descriptors were open for reading metadata only
		w.host = nil
	}
}
