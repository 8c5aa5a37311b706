package nsjail

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"brig/cgroup"
	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Box is a jail that lives: it has no command of its own, and any number of commands run in it, one after the other or
// at the same time. A command finds what earlier ones have left: files, servers, a shell. So a run in a box does not
// start clean. In all else a process has what a jail's payload has.
//
// No process of the host enters a box. Its init makes each process, and passes out what the caller asks for: a
// terminal, a socket. Processes of a box share one Landlock domain, one user and one control group, and can signal and
// inspect each other as the filter permits.
//
// Without a control group, Limits.Processes holds what processes start, and not those of Command.
//
// A box ends with Close, with its context, at its limits, and with this process, also if that is killed. An idle box
// holds no goroutine.
type Box struct {
	jail    *Cmd
	like    Spec      // the Spec of a process, without its command
	plan    *plan.Box // of its processes
	runner  *Runner   // of the processes: it has no launcher
	sending sync.Mutex
	frozen  atomic.Bool
	closing sync.Once
	waiting sync.Once
	result  *Result
	err     error
}

// NewBox makes a box. The Spec has no Args. Limits.Wall is its time to live, with the default of a jail's. The limits
// that count what one command does (Idle, Output, OutputLimit) are those of each process.
//
// A box needs a filter, init, and namespaces of its own: neither Spec.NoInit nor the process tier. Its processes have
// no file of the caller's as a stream; the keeper copies.
func (r *Runner) NewBox(ctx context.Context, s Spec) (*Box, error) {
	switch {
	case len(s.Args) > 0:
		return nil, spec.CallerError("args", "a box has no command of its own", "leave it out, and use Box.Command")
	case s.NoInit:
		return nil, spec.CallerError("no_init", "a box needs init, which starts its processes", "leave it out")
	case s.Tier != "":
		return nil, spec.CallerError("tier", "a box needs namespaces of its own", "use the default tier")
	case s.TTY:
		return nil, spec.CallerError("tty", "a box has no terminal; each of its processes can have one",
			"set it for a process")
	case s.Seccomp == "unconfined":
		return nil, spec.CallerError("seccomp", "without a filter a process can set the limits and the priority of init, "+
			"which the next one inherits", "use a profile")
	}
	b := &Box{jail: r.CommandSpec(ctx, s), runner: &Runner{}}
	b.runner.jails.jails = map[*running]bool{}
	own := &b.jail.Spec
	own.Args = []string{"box"}
	own.Limits.Idle, own.Limits.Output, own.Limits.OutputLimit = 0, 0, 0
	b.jail.living = true
	if err := b.jail.Start(); err != nil {
		return nil, err
	}
	b.plan = b.run().processes
	b.like = *s.Clone()
	b.like.Limits.Wall, b.like.Egress, b.like.Publish = 0, nil, nil
	if b.like.Net == spec.NetEgress { // the keeper of the box holds it
		b.like.Net = ""
	}
	return b, nil
}

// perform has the box's init perform a program. The first descriptor is the socket for its reports.
func (b *Box) perform(p *program.Program, fds ...int) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	rc, err := b.run().Report.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = rc.Write(func(fd uintptr) bool { // a flood of commands waits for init
		sent = launcher.SendProgram(int(fd), p, fds...)
		return sent != unix.EAGAIN
	})
	var size program.SizeError
	switch err = errors.Join(err, sent); {
	case errors.As(err, &size):
		return tooLarge(err)
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET), errors.Is(err, os.ErrClosed):
		return os.ErrProcessDone
	}
	return err
}

// within returns the box as its processes have it.
func (b *Box) within() *within { return &within{b.jail.Pid(), b.why, b.kills, b.kills()} }

func (b *Box) run() *running { return b.jail.running.Load() }

// Freeze stops all processes of the box until Thaw: by the freezer of its control group, or else, which a process that
// a parent of its own continues escapes, by SIGSTOP. No command can be started meanwhile. The time counts neither for
// Limits.Wall nor for Limits.Idle.
func (b *Box) Freeze() error { return b.freeze(true) }

// Thaw lets the processes of a frozen box go on.
func (b *Box) Thaw() error { return b.freeze(false) }

func (b *Box) freeze(on bool) error {
	b.sending.Lock()
	defer b.sending.Unlock()
	if b.run().group != nil {
		if err := b.jail.Freeze(on); err != nil {
			return err
		}
	} else {
		what := byte(launcher.TellContinue)
		if on {
			what = launcher.TellStop
		}
		if b.run().Tell(what) != nil {
			return os.ErrProcessDone
		}
	}
	b.frozen.Store(on)
	for _, w := range b.clocks() {
		if on {
			w.hold()
		} else {
			w.release()
		}
	}
	return nil
}

// clocks returns those of the box and of its processes: the time for which it is frozen counts for none of them.
func (b *Box) clocks() []*watch {
	list := []*watch{&b.run().watch}
	jails := &b.runner.jails
	jails.mu.Lock()
	defer jails.mu.Unlock()
	for r := range jails.jails {
		list = append(list, &r.watch)
	}
	return list
}

// Usage returns what the box uses now: the figures of its control group. It returns nil without one, and
// os.ErrProcessDone after the end of the box.
func (b *Box) Usage() (*cgroup.LiveUsage, error) { return b.jail.LiveUsage() }

// Pid returns the host's pid of the box's process 1.
func (b *Box) Pid() int { return b.jail.Pid() }

// Jail returns the jail that the box is: its plan, control group and usage. The box waits for its end.
func (b *Box) Jail() *Cmd { return b.jail }

// Wait waits until the box has ended, and returns its Result: what all processes took, the limits that the box has met,
// its changes. Close must be called nevertheless.
func (b *Box) Wait() (*Result, error) {
	b.waiting.Do(func() { b.result, b.err = b.jail.Wait() })
	return b.result, b.err
}

// Close ends the box and all of its processes, and returns its Result as Wait does. Its status is StatusOK unless the
// box had ended before.
func (b *Box) Close() (*Result, error) {
	b.closing.Do(func() {
		if b.frozen.Load() { // init answers then
			_ = b.Thaw() // an error means that the box has ended
		}
		b.runner.jails.cancel()
		b.run().ender.end()
		b.runner.jails.close()
	})
	return b.Wait()
}

// kills returns how many processes the kernel has killed because the box has no memory left.
func (b *Box) kills() int64 {
	if g := b.run().group; g != nil {
		return g.OOMKills()
	}
	return 0
}

// why returns why the box has ended, for a process that has ended with it.
func (b *Box) why() cause {
	r := b.run()
	why := cause(r.ender.cause.Load())
	switch {
	case why != notEnded:
		return why
	case b.kills() > 0:
		return endedMemory
	}
	return endedCancel
}

func errFrozen() error { return spec.CallerError("box", "it is frozen", "thaw it first") }
