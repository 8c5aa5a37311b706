package nsjail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"brig/cgroup"
	"brig/internal/sys"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Cmd is a command in a jail, prepared or running. It has the shape of exec.Cmd, with two differences: Spec describes
// the jail, and a *Result, not an error, describes how the payload ended. A non-nil error means that the jail could not
// be made and that nothing of the payload has run. A Cmd is used once.
type Cmd struct {
	// Spec describes the jail. Command sets Args.
	Spec spec.Spec
	// Stdin is the payload's standard input; nil means empty. Of an *os.File that is a pipe, a terminal or /dev/null the
	// payload gets a new open file description; a *Given is passed through unchanged. Any other reader is copied through
	// a pipe.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil discards it. Of an *os.File that is a pipe, a terminal or /dev/null the
	// payload gets a new open file description, and a *Given is passed through unchanged, unless Spec.Limits bounds the
	// output. Any other writer gets a copy. If both are the same comparable writer, or the same file that is copied,
	// one goroutine writes, in the order in which the payload wrote, and the Result counts all of it as stdout.
	Stdout, Stderr io.Writer
	// Terminal, if set with Spec.TTY, is called with the master side of the payload's terminal before the payload starts.
	// The callee sets its size, and again whenever that changes (ioctl_tty(2) TIOCSWINSZ). The start waits for its return.
	Terminal func(master *os.File)

	// NetworkLog, if set, receives one JSON line (egress.Event) for each connection and each refused attempt of a jail
	// with NetEgress, and for each connection to a published port. Each Write is one line.
	NetworkLog io.Writer

	// Handover, if set, lets a parked payload run the command: see Runner.PrestartRunning.
	Handover *Handover
	// Ended, if set, is called when all processes of the jail have ended, before its remaining output is read.
	Ended func()
	// WantPlanDigest makes Start calculate PlanDigest.
	WantPlanDigest bool

	ctx        context.Context
	runner     *Runner
	ownsRunner bool
	living     bool                 // it is a box
	within     *within              // in which the command runs; nil for a jail of its own
	way        func(*Runner) source // the only way to start; nil for the Runner's: see CommandOrdered

	started bool
	failed  *attempt                // the start, if it has failed; else nil
	running atomic.Pointer[running] // nil unless the jail's first process exists
	facts   *ended                  // nil before the end
}

// Command returns a Cmd with a launcher of its own. To run many commands, use a Runner.
func Command(name string, args ...string) *Cmd {
	return CommandContext(context.Background(), name, args...)
}

// CommandContext is like Command; the jail is killed when the context ends.
func CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: spec.Spec{Args: append([]string{name}, args...)}, ownsRunner: true, ctx: ctx}
}

// Run starts the command and waits until it ends.
func (c *Cmd) Run() (*Result, error) {
	if err := c.Start(); err != nil {
		return nil, err
	}
	return c.Wait()
}

// Output runs the command and returns the head and tail of its standard output, at most Spec.Limits.Output bytes, or
// DefaultCapture. Result.Output counts the bytes that were dropped.
func (c *Cmd) Output() ([]byte, *Result, error) {
	if c.Stdout != nil {
		return nil, nil, errors.New("nsjail: Stdout is already set")
	}
	var b bytes.Buffer
	c.Stdout = &b
	return c.captured(&b)
}

// CombinedOutput runs the command and returns its standard output and standard error, interleaved as written.
func (c *Cmd) CombinedOutput() ([]byte, *Result, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, nil, errors.New("nsjail: Stdout or Stderr is already set")
	}
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	return c.captured(&b)
}

func (c *Cmd) captured(b *bytes.Buffer) ([]byte, *Result, error) {
	if c.Spec.Limits.Output == 0 {
		c.Spec.Limits.Output = spec.DefaultCapture
	}
	r, err := c.Run()
	return b.Bytes(), r, err
}

// Start creates the jail and starts the command. When it returns nil, the command's execve(2) has succeeded.
func (c *Cmd) Start() (err error) {
	if c.started {
		return errors.New("nsjail: a Cmd is started once")
	}
	c.started = true
	if c.ctx == nil {
		c.ctx = context.Background()
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	a := newAttempt(&c.Spec)
	if c.ownsRunner {
		if c.runner, err = newBareRunner(); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, c.runner.Close())
			}
		}()
	}
	if problems := c.Spec.Check(); len(problems) > 0 {
		return problems[0].AsError()
	}
	return c.runner.jails.run(c.ctx, func() error { return c.begin(a) })
}

// begin starts the jail in the first way that has one.
func (c *Cmd) begin(a *attempt) error {
	a.jails, a.handover, a.wantDigest, a.made = &c.runner.jails, c.Handover, c.WantPlanDigest, c.running.Store
	a.living, a.box = c.living, c.within
	a.wire(c.Stdin, c.Stdout, c.Stderr)
	a.held.streams.Terminal = c.Terminal
	sources := c.runner.sources()
	if c.way != nil {
		sources = []source{c.way(c.runner)}
	}
	_, err := begin(c.ctx, a, c.NetworkLog, sources...)
	if err != nil {
		c.failed = a
	}
	return err
}

// Wait waits until all processes of the jail have ended and all of its output has been copied. If a Runner's jail has
// neither a bind nor a control group, the kernel may still be dismantling its namespaces when Wait returns; Close waits
// for that. With ForkedRunner the kernel may still be dismantling the mounts, and nothing waits for them, unless they
// show files that the caller may want to unmount. If processes do not end within ten seconds of SIGKILL, Wait returns
// an *Error that names them and a Result with StatusError; everything else is released.
func (c *Cmd) Wait() (*Result, error) {
	r := c.running.Load()
	if r == nil || c.failed != nil || c.facts != nil {
		return nil, errors.New("nsjail: Wait before a successful Start, or twice")
	}
	facts, err := r.end(c.Ended)
	c.facts = facts
	result, herr := resultOf(facts)
	err = errors.Join(err, herr, r.close())
	c.runner.jails.leave()
	if c.ownsRunner {
		err = errors.Join(err, c.runner.Close())
	}
	return result, err
}

// Signal sends a signal to the payload, through init. SIGINT and SIGQUIT reach its process group, as from a terminal.
// SIGKILL ends the whole jail. Before the jail has a process the error is os.ErrInvalid, and after its end
// os.ErrProcessDone.
func (c *Cmd) Signal(sig os.Signal) error {
	if r := c.running.Load(); r != nil {
		return r.ender.signal(sig)
	}
	return os.ErrInvalid
}

// Stop sends a signal that asks the payload to end. If the jail has not ended within Limits.Grace (DefaultGrace if that
// is 0), it is killed and its status is cancelled. Another Stop in the meantime sends its signal too, and does not
// extend the time. SIGKILL ends the jail at once. The errors are those of Signal.
func (c *Cmd) Stop(sig os.Signal) error {
	if r := c.running.Load(); r != nil {
		return r.ender.stop(sig)
	}
	return os.ErrInvalid
}

// Freeze stops all processes of a running jail, or resumes them. It needs a control group, which a jail has only if one
// of its limits requires it. The wall clock continues.
func (c *Cmd) Freeze(on bool) error {
	if r := c.running.Load(); r != nil {
		return r.ender.freeze(on)
	}
	return errors.New("nsjail: Freeze before a successful Start")
}

// ControlGroup returns the directories of the jail's control group, between Start and Wait: that of version 2, or "",
// and those of version 1 by controller. Both are empty for a jail without a group.
func (c *Cmd) ControlGroup() (v2 string, v1 map[string]string) {
	if r := c.running.Load(); r != nil && r.group != nil {
		return r.group.Dirs()
	}
	return "", nil
}

// LiveUsage returns what the jail uses now, between Start and Wait: the figures of its control group. It returns nil
// for a jail without a group, and os.ErrProcessDone after the end of the jail.
func (c *Cmd) LiveUsage() (*cgroup.LiveUsage, error) {
	r := c.running.Load()
	if r == nil || r.group == nil {
		return nil, nil
	}
	if u := r.group.Live(); u != nil {
		return u, nil
	}
	return nil, os.ErrProcessDone
}

// Plan returns the plan that Start has made, or nil before Start: see explain.Plan.
func (c *Cmd) Plan() *plan.Plan {
	if r := c.running.Load(); r != nil {
		return r.whole()
	}
	if c.failed != nil {
		return c.failed.plan
	}
	return nil
}

// PlanDigest returns the SHA-256, in hexadecimal, of the programs that the launcher has performed, if WantPlanDigest is
// set: the same for the same Spec on the same machine, unless a source has been replaced. It is "" before Start.
func (c *Cmd) PlanDigest() string {
	if r := c.running.Load(); r != nil {
		return r.digest
	}
	if c.failed != nil {
		return c.failed.digest
	}
	return ""
}

// enforced returns what enforces each mechanism, or nil before the jail is planned.
func (c *Cmd) enforced() map[string]spec.Text {
	if r := c.running.Load(); r != nil {
		return r.enforced(r.plan)
	}
	if c.failed != nil && c.failed.plan != nil {
		return c.failed.plan.Enforced
	}
	return nil
}

// Pid returns the host's pid of the jail's process 1, or 0 before Start; of a process of a box, its pid in the box.
func (c *Cmd) Pid() int {
	if r := c.running.Load(); r != nil {
		return r.Pid
	}
	return 0
}

// Leave hands the payload to the process that the caller has started, if that is this one's parent, and reports whether
// it is. That process then ends as the payload does, and this one has to exit.
func (c *Cmd) Leave() (bool, error) {
	r := c.running.Load()
	if r == nil || c.within != nil || !c.runner.own.launcher.Parent {
		return false, nil
	}
	err := sys.Control(r.Report, func(fd int) error {
		if err := unix.SetNonblock(fd, false); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		return c.runner.own.launcher.Leave(fd)
	})
	if err == nil {
		c.runner.jails.forget(r)
	}
	return err == nil, err
}
