package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"brig/brigd/internal/feed"
	"brig/brigd/job"
	"brig/brigd/workspace"

	"golang.org/x/sys/unix"
)

// processes starts processes in living sandboxes, and has those that run or have ended lately.
type processes struct {
	runs   *runs
	boxes  *boxes
	lives  *lives
	access *access
}

// maxWait is how long a call waits for output at most.
const maxWait = time.Minute

var tagPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{0,63}[A-Za-z_-][A-Za-z0-9_-]{0,63}$`)

// check refuses a request that makes no sense.
func (r *ProcessRequest) check() *job.Refusal {
	switch t := r.TTY; {
	case (len(r.Cmd) == 0) == (r.Shell == ""):
		return bad("nothing_to_run", "cmd", "exactly one of cmd and shell is needed",
			"send cmd as a list of words, or shell as a line")
	case r.Tag != "" && !tagPattern.MatchString(r.Tag):
		return bad("bad_tag", "tag", "tag: "+fmt.Sprintf("%.70q", r.Tag)+" is no name",
			"use letters, digits, - and _, and not digits alone, as in dev-server")
	case t != nil && (t.Rows < 1 || t.Cols < 1 || t.Rows > 4096 || t.Cols > 4096):
		return bad("bad_size", "tty", "tty: a terminal has 1 to 4096 rows and columns", `send {"rows": 24, "cols": 80}`)
	}
	return negative(amount{"timeout", r.Timeout < 0, "30s"})
}

// request returns the run that the process is.
func (r *ProcessRequest) request(sandbox string) *Request {
	q := &Request{Cmd: r.Cmd, Env: r.Env, Secrets: r.Secrets, Cwd: r.Cwd, Timeout: r.Timeout, Strip: r.Strip,
		Sandbox: sandbox, endless: r.Timeout == 0}
	if r.Shell != "" {
		q.Cmd = []string{"/bin/sh", "-c", r.Shell}
	}
	return q
}

// life returns the box of a sandbox that the caller may use.
func (s *processes) life(c Caller, id, op string) (*life, *workspace.Sandbox, *job.Refusal) {
	if no := s.access.mayDo(c, op); no != nil {
		return nil, nil, no
	}
	box, no := s.boxes.find(c, id)
	if no != nil {
		return nil, nil, no
	}
	l := s.lives.of(id)
	if l == nil {
		return nil, nil, refuse("sandbox", "not_living", "id", "the sandbox has no processes between calls",
			`give it a box by POST /v1/sandboxes/{id}/live, or make a sandbox with {"living": true}`)
	}
	return l, box, nil
}

// use calls do for a process of a sandbox. The call counts as a use of the sandbox.
func (s *processes) use(c Caller, id, name string, do func(*process) *job.Refusal) error {
	l, box, no := s.life(c, id, "live")
	if no != nil {
		return no
	}
	left, err := box.Use()
	if err != nil {
		return asRefusal(err, "sandbox", "sandbox_unknown")
	}
	defer left()
	p := l.procs.find(name)
	if p == nil {
		return refuse("sandbox", "process_unknown", "name", "the sandbox has no such process: it was never started, or "+
			"ended some time ago", "list the processes")
	}
	if no := do(p); no != nil {
		return no
	}
	return nil
}

// StartProcess starts a process in a living sandbox. It goes on when the call has returned; unless it is detached, it
// ends with attached, the time for which its starter reads its output; nil is none.
func (s *processes) StartProcess(ctx context.Context, c Caller, id string, r *ProcessRequest,
	attached context.Context) (*ProcessInfo, error) {
	l, _, no := s.life(c, id, "live")
	if no = cmp.Or(no, r.check()); no != nil {
		return nil, no
	}
	request := r.request(id)
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p := &process{tag: r.Tag, cmd: request.Cmd, tty: r.TTY != nil, life: l, cancel: cancel, started: make(chan struct{}),
		ended: make(chan struct{})}
	if r.TTY != nil {
		p.size = *r.TTY
	}
	if attached != nil && !r.Detached {
		p.out.Follow(own) // which ends with attached
	}
	if r.TTY != nil || r.Stdin {
		p.stdin = feed.New("")
		request.StdinReader = p.stdin
	}
	if no := l.procs.add(p); no != nil {
		return nil, no
	}
	abort := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	go func() {
		x := &run{runs: s.runs, caller: c, request: request, process: p}
		p.finish(x.perform(own, p.event))
		cancel(nil)
		l.procs.trim()
	}()
	select {
	case <-p.started:
	case <-p.ended:
	}
	abort()
	if a := p.info().Result; a != nil && (a.Error != nil || a.Usage == nil) {
		l.procs.drop(p)
		return nil, cmp.Or(a.Error, refuse("sandbox", "not_started", "", "the process was not started: "+a.Status))
	}
	if attached != nil && !r.Detached {
		context.AfterFunc(attached, func() { cancel(context.Cause(attached)) })
	}
	info := p.info()
	return &info, nil
}

// Processes lists the processes of a living sandbox that calls have started, in the order of their start.
func (s *processes) Processes(c Caller, id string) ([]ProcessInfo, error) {
	l, _, no := s.life(c, id, "live")
	if no != nil {
		return nil, no
	}
	list := []ProcessInfo{}
	for _, p := range l.procs.list() {
		select {
		case <-p.started:
			list = append(list, p.info())
		default: // it may never start
		}
	}
	return list, nil
}

// Process describes a process by its pid, tag or id.
func (s *processes) Process(c Caller, id, name string) (info *ProcessInfo, err error) {
	err = s.use(c, id, name, func(p *process) *job.Refusal {
		i := p.info()
		info = &i
		return nil
	})
	return info, err
}

// ProcessOutput returns what a process has written from an offset on; an offset below 0 is the first that is kept. It
// waits for that, or for the end of the process, for some time.
func (s *processes) ProcessOutput(ctx context.Context, c Caller, id, name string, offset int64,
	wait time.Duration) (out *ProcessOutput, err error) {
	out = &ProcessOutput{}
	err = s.use(c, id, name, func(p *process) *job.Refusal {
		ctx, cancel := context.WithTimeout(ctx, min(max(wait, 0), maxWait))
		defer cancel()
		if out.Part = *p.out.Read(ctx, offset); !out.Running {
			out.Result = p.info().Result
		}
		return nil
	})
	return out, err
}

// ProcessInput sends input to a process, and returns how many bytes it has taken. eof ends its input.
func (s *processes) ProcessInput(ctx context.Context, c Caller, id, name string, in io.Reader, eof bool) (n int64,
	err error) {
	err = s.use(c, id, name, func(p *process) *job.Refusal {
		if p.stdin == nil {
			return bad("no_stdin", "stdin", "the process has no input from here", "start it with stdin or tty")
		}
		leave, no := p.life.enter()
		if no != nil {
			return no
		}
		defer leave()
		n, no = p.write(ctx, in, eof)
		return no
	})
	return n, err
}

// signals are those that a call may send, by their names.
var signals = []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGKILL, unix.SIGUSR1, unix.SIGUSR2,
	unix.SIGTERM, unix.SIGCONT, unix.SIGSTOP, unix.SIGTSTP, unix.SIGWINCH}

// SignalProcess sends a signal to a process: "TERM", or "SIGTERM". KILL ends all of its session.
func (s *processes) SignalProcess(c Caller, id, name, signal string) error {
	wanted := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(signal), "SIG"))
	known, names := false, []string{}
	for _, s := range signals {
		known = known || s == wanted
		names = append(names, strings.TrimPrefix(unix.SignalName(s), "SIG"))
	}
	if !known {
		return bad("bad_signal", "signal", fmt.Sprintf("signal: %.20q is none that can be sent", signal),
			"send one of "+strings.Join(names, ", "))
	}
	return s.use(c, id, name, func(p *process) *job.Refusal {
		leave, no := p.life.enter()
		if no != nil {
			return no
		}
		defer leave()
		return p.signal(wanted)
	})
}

// ResizeProcess changes the size of the terminal of a process.
func (s *processes) ResizeProcess(c Caller, id, name string, size TerminalSize) error {
	if no := (&ProcessRequest{Cmd: []string{name}, TTY: &size}).check(); no != nil {
		return no
	}
	return s.use(c, id, name, func(p *process) *job.Refusal { return p.resize(size) })
}

// DeleteProcess ends a process and its session, if it runs, and forgets its output.
func (s *processes) DeleteProcess(c Caller, id, name string) error {
	return s.use(c, id, name, func(p *process) *job.Refusal {
		leave, no := p.life.enter()
		if no == nil {
			defer leave()
		}
		p.cancel(errors.New("a call has ended it"))
		<-p.ended
		p.life.procs.drop(p)
		return nil
	})
}

// FreezeSandbox stops the processes of a living sandbox until the next call that uses one.
func (s *processes) FreezeSandbox(c Caller, id string) error {
	l, _, no := s.life(c, id, "live")
	if no == nil {
		no = l.ready()
	}
	if no != nil {
		return no
	}
	if err := l.idle.Stop(); err != nil {
		return refuse("sandbox", "not_frozen", "", "the sandbox cannot be frozen now: "+err.Error(), "try again later")
	}
	return nil
}

// ThawSandbox lets the processes of a frozen sandbox go on.
func (s *processes) ThawSandbox(c Caller, id string) error {
	l, box, no := s.life(c, id, "live")
	if no != nil {
		return no
	}
	leave, no := l.enter()
	if no != nil {
		return no
	}
	leave()
	left, err := box.Use()
	if err != nil {
		return asRefusal(err, "sandbox", "sandbox_unknown")
	}
	left()
	return nil
}
