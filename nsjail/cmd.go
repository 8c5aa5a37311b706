package nsjail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"brig/cgroup"
	"brig/denial"
	"brig/internal/sys"
	"brig/nsjail/internal/ghost"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// Cmd is a command in a jail, prepared or running. It has the shape of exec.Cmd, with two differences: Spec describes
// the jail, and a *Result, not an error, describes how the payload ended. A non-nil error means that the jail could not
// be made and that nothing of the payload has run. A Cmd is used once.
type Cmd struct {
	// Spec describes the jail. Command sets Args.
	Spec spec.Spec
	// Stdin is the payload's standard input; nil means empty. An *os.File that is a pipe, a terminal or /dev/null is
	// opened again for the payload, and a *Given is the payload's. Any other reader is copied through a pipe.
	Stdin io.Reader
	// Stdout and Stderr receive the output; nil discards it. An *os.File that is a pipe, a terminal or /dev/null is opened
	// again for the payload, and a *Given is the payload's, unless Spec.Limits bounds the output. Any other writer gets a
	// copy. If both are the same comparable writer, or the same file that is copied, one goroutine writes, in the order in
	// which the payload wrote, and the Result counts all of it as stdout.
	Stdout, Stderr io.Writer
	// Terminal, if set with Spec.TTY, is called with the master side of the payload's terminal before the payload starts.
	// The callee sets its size, and again whenever that changes (ioctl_tty(2) TIOCSWINSZ).
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

	digest  string // of the programs of this run, if WantPlanDigest is set
	counted bool   // facts.group has the figures of the control group

	ordered *steps.Jail         // nil: Spec describes the jail
	spawned func(pid int) error // see CommandOrdered; or nil

	edit       func(*plan.Plan) // lets a test change the plan
	runner     *Runner
	ownsRunner bool // the runner belongs to this Cmd
	ctx        context.Context
	started    bool
	parked     bool // its payload waits for another Cmd: Runner.PrestartRunning
	taken      bool // its payload was parked
	ghosts     *ghost.Set
	jail       // zero before Start
	plan       *plan.Plan
	streams    run.Streams
	closers    []io.Closer // other files to close at the end
	marks      [momentEnded + 1]time.Time
	facts      *ended // nil before Wait
	result     *Result
	state      outcome
	changes    []Change           // those of plan.Uppers that have arrived
	stores     map[int]*run.Store // the directories for changes on disk, by mount
	counting   sync.Mutex         // held while these are counted
	network    *network           // nil for a jail without NetEgress and published ports
	frozen     atomic.Bool
	stopOOM    func() error // nil if there is no watch
	timers     run.Timers
	stopCtx    func() bool
}

// outcome is what the keeper notes of a running jail.
type outcome struct {
	cause      atomic.Int32 // why the keeper ended the jail; set before it does
	warned     atomic.Bool  // the payload has received SIGTERM first
	lastOutput atomic.Int64 // its time, in nanoseconds since the call of Start
	output     atomic.Int64 // bytes, for countOutput
	running    atomic.Bool  // the payload has started
	asked      atomic.Bool  // Stop has asked the payload to end
	over       atomic.Bool  // output is above the limit
	done       atomic.Bool  // the jail has ended
	keyed      atomic.Int32 // the signal for which SIGKILL has ended a payload that is process 1
	before     cgroup.Stats // the group's statistics when a payload was taken

	uncounted atomic.Pointer[error] // why netlink messages could not be counted at some time; or nil
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

// Signal sends a signal to the payload, through init. SIGINT and SIGQUIT reach its process group, as from a terminal.
// SIGKILL ends the whole jail.
func (c *Cmd) Signal(sig os.Signal) error {
	s, ok := sig.(unix.Signal)
	switch {
	case !ok || c.pidfd == nil:
		return os.ErrInvalid
	case c.state.done.Load():
		return os.ErrProcessDone
	case s == unix.SIGKILL:
		return c.killInit()
	case c.Spec.NoInit && (s == unix.SIGINT || s == unix.SIGQUIT):
		if byDefault(c.pid, s) { // the kernel keeps it from process 1: pid_namespaces(7)
			c.state.keyed.Store(int32(s))
			return c.killInit()
		}
		beforeSignal(c, s)
		defer signalOthers(c.pid, s) // a shell looks whether it had the signal before its command ended
		return c.signal(s)
	}
	beforeSignal(c, s)
	return c.signal(s)
}

// signal sends a signal to process 1.
func (c *Cmd) signal(s unix.Signal) error {
	err := sys.Control(c.pidfd, func(fd int) error { return unix.PidfdSendSignal(fd, s, nil, 0) })
	if _, told := err.(unix.Errno); err == unix.ESRCH || err != nil && !told { // the pidfd is closed
		return os.ErrProcessDone
	}
	return err
}

// Plan returns the plan that Start has made, or nil before Start: see explain.Plan.
func (c *Cmd) Plan() *plan.Plan {
	if c.plan == nil || c.plan.Jail != nil {
		return c.plan
	}
	p, err := c.from.prefix.Resolve(c.plan.Spec, c.plan.Host)
	if err != nil { // impossible: the same suffix has been planned before
		return nil
	}
	return p
}

// PlanDigest returns the SHA-256, in hexadecimal, of the programs that the launcher has performed, if WantPlanDigest is
// set: the same for the same Spec on the same machine, unless a source has been replaced. It is "" before Start.
func (c *Cmd) PlanDigest() string { return c.digest }

// Pid returns the host's pid of the jail's process 1, or 0 before Start.
func (c *Cmd) Pid() int { return c.pid }

// moment is a moment of a run. Phases has the times between them.
type moment int

const (
	momentStarted moment = iota
	momentLooked
	momentPlanned
	momentPrepared
	momentSpawned
	momentExecuted
	momentEnded
)

func (c *Cmd) mark(m moment) { c.marks[m] = time.Now() }

// openStreams opens the payload's streams: see run.Streams.
func (c *Cmd) openStreams() ([]int, error) {
	h, s := c.plan.Host, &c.streams
	c.setStreams()
	s.Seat = c.plan.Mode.Terminal > 0
	s.Chown, s.UID, s.GID, s.Same = h.Drop, h.PayloadUID, h.PayloadGID, c.plan.SameFiles
	return s.Open()
}

// setStreams sets what the caller asks for.
func (c *Cmd) setStreams() {
	l, s := &c.Spec.Limits, &c.streams
	s.In, s.Out, s.Terminal, s.TTY = c.Stdin, [2]io.Writer{c.Stdout, c.Stderr}, c.Terminal, c.Spec.TTY
	s.Keep, s.Read, s.Count = int64(l.Output), l.NeedsCopies() || c.parked, c.countOutput
}

// endStreams ends the copies and closes the files that the Cmd holds until the jail ends.
func (c *Cmd) endStreams() {
	c.streams.End()
	for _, f := range c.closers {
		f.Close()
	}
}

// outputCounts returns the number of bytes that the keeper has copied and dropped.
func (c *Cmd) outputCounts() Output {
	bytes, dropped := c.streams.Counts()
	return Output{StdoutBytes: bytes[0], StderrBytes: bytes[1], StdoutDropped: dropped[0], StderrDropped: dropped[1]}
}

// ErrNotFound and ErrNotExecutable are reasons why the command could not be started, for errors.Is.
var (
	ErrNotFound      = errors.New("command not found in the jail")
	ErrNotExecutable = errors.New("command not executable in the jail")
)

// ExecError means that the command could not be executed in the jail.
type ExecError struct {
	Cause *spec.Error
	Kind  error // ErrNotFound or ErrNotExecutable
	// OfHost reports that Cause.Remedy tells what the keeper's machine has, which is for its own user only.
	OfHost bool
}

// Error returns the message of Cause.
func (e *ExecError) Error() string { return e.Cause.Error() }

// Is reports whether target is Kind.
func (e *ExecError) Is(target error) bool { return target == e.Kind }

// Unwrap returns Cause.
func (e *ExecError) Unwrap() error { return e.Cause }

// Denial returns the error as an entry of Result.Denials.
func (e *ExecError) Denial() denial.Denial {
	return denial.Denial{Layer: denial.LayerExec, Name: e.Cause.Detail, Count: 1, Why: e.Cause.Errno.Error(),
		Fix: e.Cause.Remedy}
}
