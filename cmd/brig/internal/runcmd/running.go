package runcmd

import (
	"bytes"
	"errors"

	"brig/cmd/brig/internal/attach"
	"brig/cmd/brig/internal/processors"
	"brig/nsjail"
	"brig/nsjail/process"
)

// running is a jail, and what is connected to it.
type running struct {
	runner *nsjail.Runner
	cmd    *nsjail.Cmd
	git    *gitDirs
	setUp  *attach.SetUp
	stays  bool // signals end what is done after the jail, too

	stdout, stderr bytes.Buffer // with --json
}

// ended is how a jail ended.
type ended struct {
	result  *nsjail.Result // nil if it has not started
	started bool
	err     error
}

// perform runs the jail. It begins a second time if its views of git directories cannot be made.
func (r *running) perform() ended {
	e := r.await()
	if again := r.git.again(r.setUp, r.runner, r.cmd, e.err); again != nil && !e.started {
		r.cmd = again
		e = r.await()
	}
	return e
}

// await starts the jail, forwards signals and the terminal, and waits. It restores the caller's terminal before it
// returns, so that messages are displayed correctly.
func (r *running) await() ended {
	c := r.cmd
	var s *attach.Screen
	if c.Spec.TTY {
		var err error
		if s, err = r.setUp.Terminal(c); err != nil {
			return ended{err: err}
		}
		defer s.Restore()
	}
	caught := process.CatchSignals()
	stop := r.setUp.Forward(c, caught, s)
	if !r.stays {
		defer stop()
	}
	if err := c.Start(); err != nil {
		return ended{err: err}
	}
	if c.Spec.Limits.NeedsCopies() || c.Spec.Net == nsjail.NetEgress || len(c.Spec.Publish) > 0 {
		processors.UseAll() // the keeper copies the output
	}
	r.setUp.Begin(caught)
	retired := r.runner.Retire()
	result, err := c.Wait()
	return ended{result, true, errors.Join(err, retired)}
}
