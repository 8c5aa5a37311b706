package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"brig/brigd/internal/idle"
	"brig/brigd/job"
	"brig/nsjail"
)

// life is the box of a living sandbox. It is the Executor of the run that the box is, and the run's Job is its plan;
// commands of the sandbox are Jobs of their own, which it executes in the box.
type life struct {
	runner *nsjail.Runner
	procs  procTable
	idle   idle.Clock

	spent idle.Meter

	up     chan struct{} // closed when the box can be used
	over   chan struct{} // closed when result is set
	box    *nsjail.Box   // set before up is closed, as job is
	job    *job.Job
	result atomic.Pointer[Response] // of the box, once it has ended
}

func newLife(r *nsjail.Runner, idleTime time.Duration) *life {
	l := &life{runner: r, up: make(chan struct{}), over: make(chan struct{})}
	l.idle.After, l.idle.Freeze = idleTime, l.freeze
	l.idle.Works = func() bool { return l.spent.Works(l.box.Pid()) }
	return l
}

// Execute makes the box, and returns when it has ended: with the context, or by itself.
func (l *life) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	s := j.Spec
	s.Args = nil
	box, err := l.runner.NewBox(context.WithoutCancel(ctx), s)
	if err != nil {
		return nil, err
	}
	l.box, l.job = box, j
	if j.Started != nil {
		j.Started(box.Jail())
	}
	close(l.up)
	stop := context.AfterFunc(ctx, func() { _, _ = box.Close() }) // the result is Wait's
	res, err := box.Wait()
	l.idle.End()
	stop()
	_, _ = box.Close() // likewise
	return res, err
}

// made reports whether the box has been made.
func (l *life) made() bool {
	select {
	case <-l.up:
		return true
	default:
		return false
	}
}

// state returns the State of a Life.
func (l *life) state() string {
	switch {
	case l.result.Load() != nil:
		return "ended"
	case l.idle.Frozen():
		return "frozen"
	}
	return "running"
}

// describe returns the box for an answer.
func (l *life) describe() *Life {
	d := &Life{State: l.state(), Processes: l.procs.running(), Result: l.result.Load(),
		Narrowed: l.job.Verdict.Narrowed}
	if l.job.Image != nil {
		d.Image = l.job.Image.Name + "@" + l.job.Image.Digest
	}
	if u, err := l.box.Usage(); err == nil {
		d.Usage = u
	}
	return d
}

// ready waits until the box can be used, and returns a refusal if it has ended.
func (l *life) ready() *job.Refusal {
	select {
	case <-l.up:
	case <-l.over:
	}
	return l.ended()
}

// ended returns the refusal of what needs the box, if that has ended.
func (l *life) ended() *job.Refusal {
	a := l.result.Load()
	if a == nil {
		return nil
	}
	why := a.Status
	if len(a.LimitsHit) > 0 {
		why = fmt.Sprint(a.LimitsHit)
	}
	return boxEnded(why)
}

func boxEnded(why string) *job.Refusal {
	return refuse("sandbox", "box_ended", "", "the box of the sandbox has ended: "+why,
		"give it another one by POST /v1/sandboxes/{id}/live; its files are as they were")
}

// inner executes a Job in the box.
type inner struct {
	*life
	process *process // that it is; nil for a run, which somebody waits for
}

// Execute implements job.Executor.
func (l inner) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	if no := l.differs(&j.Spec); no != nil {
		return nil, no
	}
	leave, no := l.enter()
	if no != nil {
		return nil, no
	}
	c := l.box.CommandContext(ctx, j.Spec.Args[0], j.Spec.Args[1:]...)
	own, of := &c.Spec, &j.Spec
	own.Env, own.PassEnv, own.Workdir, own.TTY = of.Env, of.PassEnv, of.Workdir, of.TTY
	ownLimits(&own.Limits, &of.Limits)
	c.Stdin, c.Stdout, c.Stderr, c.Ended = j.Stdin, j.Stdout, j.Stderr, j.Ended
	if l.process != nil {
		l.process.attach(c)
	}
	err := c.Start()
	if l.process != nil {
		leave() // it is quiet until a call comes, or output
	} else {
		defer leave()
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil, cmp.Or(l.ended(), boxEnded("it ends now"))
	}
	if err != nil {
		return nil, err
	}
	if j.Started != nil {
		j.Started(c)
	}
	return c.Wait()
}

// ownLimits sets the limits that each process of a box has for itself.
func ownLimits(to, from *nsjail.Limits) {
	to.Wall, to.Idle, to.Grace = from.Wall, from.Idle, from.Grace
	to.Output, to.OutputLimit = from.Output, from.OutputLimit
}

// differs refuses a Job for which a policy demands a jail that the box is not.
func (l *life) differs(s *nsjail.Spec) *job.Refusal {
	a, b := *s, l.job.Spec
	a.Args, a.Env, a.PassEnv, a.Workdir, a.TTY = b.Args, b.Env, b.PassEnv, b.Workdir, b.TTY
	ownLimits(&a.Limits, &b.Limits)
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return refuse("policy", "box_differs", "sandbox",
		"a policy demands a jail for this command that the box of the sandbox is not",
		"run it in a sandbox that does not live, or make another one now: the policies have changed")
}

// lives are the boxes of all living sandboxes.
type lives struct {
	idle time.Duration // after which a quiet box is frozen; 0 is never
	all  sync.Map      // *life by the id of the sandbox
}

// of returns the box of a sandbox; nil if that is none that lives.
func (t *lives) of(sandbox string) *life {
	if l, ok := t.all.Load(sandbox); ok {
		return l.(*life)
	}
	return nil
}
