package nsjail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"brig/cgroup"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/spec"
	"brig/nsjail/internal/warm"

	"golang.org/x/sys/unix"
)

// Cmd is a command in a jail that is being prepared or run. It has the shape of exec.Cmd, with two differences: the
// jail is described by Spec, and how the payload ended is a *Result, not an error. A non-nil error means that the jail
// could not be made, and that nothing of the payload has run. A Cmd is used once.
type Cmd struct {
	// Spec describes the jail; Command has set Args.
	Spec spec.Spec
	// Stdin is the payload's standard input; nil is empty. An *os.File that is a pipe, a terminal or /dev/null is opened
	// again for the payload; any other is copied through a pipe.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil drops it. An *os.File that is a pipe, a terminal or /dev/null is opened
	// again for the payload, unless Spec.Limits bounds the output; any other is copied. If both are the same comparable
	// writer, or the same file that is copied, one goroutine writes, in the order in which the payload wrote, and the
	// Result counts all as stdout.
	Stdout, Stderr io.Writer
	// Terminal, if set with Spec.TTY, is called with the master side of the payload's terminal before it starts: to
	// set its size, and again whenever that changes (ioctl_tty(2) TIOCSWINSZ).
	Terminal func(master *os.File)

	// NetworkLog, if set, gets one JSON line (egress.Event) for each connection and each refused attempt of a jail with
	// NetEgress, and for each connection to a published port. One Write is one line.
	NetworkLog io.Writer

	wantDigest bool
	digest     string // of the programs that make the jail, if it is wanted
	ended      func() // see Job.Ended

	edit       func(*plan.Plan) // a test's change of the plan
	runner     *Runner
	ownsRunner bool // the runner belongs to this Cmd
	ctx        context.Context
	started    bool
	pidfd      *os.File
	report     *os.File
	pid        int
	plan       *plan.Plan
	streams    run.Streams
	closers    []io.Closer // what else is closed at the end
	marks      [7]time.Time
	result     *Result
	state      outcome
	made       made
	group      *cgroup.Group   // nil for none
	net        *warm.Namespace // nil for a network namespace of its own
	network    *network        // nil for a jail that reaches nothing and publishes nothing
	from       *planTemplate   // nil for a jail that was made in one go
	sockets    []int           // of the network, if they came before the command
	frozen     atomic.Bool
	stopOOM    func() error // nil for nothing to stop
	timers     run.Timers
	stopCtx    func() bool
}

// outcome is what the keeper itself knows of the end.
type outcome struct {
	cause      atomic.Int32 // why the keeper has ended the jail, set before it does
	warned     atomic.Bool  // the payload got SIGTERM first
	lastOutput atomic.Int64 // when, in nanoseconds since the call
	output     atomic.Int64 // bytes, for the limit that ends the jail
	running    atomic.Bool  // the payload has started
	asked      atomic.Bool  // Stop has asked it to end
	over       atomic.Bool  // they were more than the limit
	done       atomic.Bool  // the jail has ended: nothing is left to be ended
	why        cause        // cause, if it was what ended the jail and not too late
	lost       bool         // init ended without a report
	cpuLimit   time.Duration
	sampled    time.Duration // of the payload: launcher.Usage
	oomGroup   bool          // one process that is killed for want of memory is all
	full       []string      // the tmpfs that were full at the end
	disk       int64         // bytes in all of them; -1 is unknown
	stats      cgroup.Stats  // what the control group has counted
	violation  launcher.Violation
	listened   bool // whatever violates the filter is known: SIGSYS alone is no violation
}

// Command prepares a jail for a command with a launcher of its own. To run many, use a Runner.
func Command(name string, args ...string) *Cmd {
	return CommandContext(context.Background(), name, args...)
}

// CommandContext is Command with a context whose end kills the jail.
func CommandContext(ctx context.Context, name string, args ...string) *Cmd {
	return &Cmd{Spec: spec.Spec{Args: append([]string{name}, args...)}, ownsRunner: true, ctx: ctx}
}

// Run starts the command and waits for its end.
func (c *Cmd) Run() (*Result, error) {
	if err := c.Start(); err != nil {
		return nil, err
	}
	return c.Wait()
}

// Output runs the command and gives its standard output: at most Spec.Limits.Output bytes, or DefaultCapture, of its
// head and tail; Result.Output counts the rest.
func (c *Cmd) Output() ([]byte, *Result, error) {
	if c.Stdout != nil {
		return nil, nil, errors.New("nsjail: Stdout is already set")
	}
	var b bytes.Buffer
	c.Stdout = &b
	return c.captured(&b)
}

// CombinedOutput is Output with the standard error in between.
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

// Signal sends a signal to the payload, through init. SIGKILL ends the whole jail.
func (c *Cmd) Signal(sig os.Signal) error {
	s, ok := sig.(unix.Signal)
	if !ok || c.pidfd == nil {
		return os.ErrInvalid
	}
	return c.signal(s)
}

func (c *Cmd) signal(s unix.Signal) error {
	if c.state.done.Load() {
		return os.ErrProcessDone
	}
	rc, err := c.pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = rc.Control(func(fd uintptr) { serr = unix.PidfdSendSignal(int(fd), s, nil, 0) })
	if err != nil || serr == unix.ESRCH {
		return os.ErrProcessDone
	}
	return serr
}

// Plan is what Start has decided; nil before.
func (c *Cmd) Plan() *plan.Plan {
	if c.plan == nil || c.plan.Jail != nil {
		return c.plan
	}
	p, err := c.from.prefix.Resolve(&c.Spec, c.plan.Host)
	if err != nil { // cannot be: it was written before
		return nil
	}
	return p
}

// Pid is the host's pid of the jail's process 1; 0 before Start.
func (c *Cmd) Pid() int { return c.pid }

func (c *Cmd) mark(phase int) { c.marks[phase] = time.Now() }
