package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
	"brig/brigd/workspace"
	"brig/denial"
	"brig/internal/words"
	"brig/netns/egress"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Run runs a request. It always returns a Response. With a stream, the output is passed to that during the run, in one
// call at a time; a stream that blocks also blocks the payload. Cancelling ctx ends the run.
func (e *Engine) Run(ctx context.Context, c Caller, r *Request, stream func(Event)) *Response {
	if c.Agent == "" {
		c.Agent = r.Agent
	}
	j, no := e.job(c, r)
	if no == nil && r.Language != "" {
		langs := e.langsOf(j)
		_ = langs.Try(ctx, e.jails, r.Language) // a program that could not be tried may still run
		no = langs.Prepare(j, r.Language, r.Code, r.Args)
	}
	if no != nil {
		return e.refused(ctx, j, no)
	}
	var box *workspace.Sandbox
	if r.Sandbox != "" {
		var release func()
		if box, release, no = e.enter(&ctx, c, j); no != nil {
			return e.refused(ctx, j, no)
		}
		defer release()
		j.Spec.Mounts = append(workspace.Mounts(box.Volume), j.Spec.Mounts...)
	}
	shown, unmount, no := e.mount(c, j, box, r.Mounts)
	if no != nil {
		return e.refused(ctx, j, no)
	}
	defer unmount()
	j.Ended = r.Ended
	if r.StdinReader != nil {
		j.Stdin = e.bounded(c, r.StdinReader)
	} else if r.Stdin != "" {
		j.Stdin = strings.NewReader(r.Stdin)
	}
	if c.Rules != nil {
		c.Rules.spare(j, e.policiesOf(Caller{Grant: c.Grant}))
	}
	e.decide(c, j, r)
	e.fill(j, r)
	c.Rules.lower(j, r, stream != nil)
	defer e.lend(&ctx, c, j, time.Now())()
	e.spend(c, j)
	if j.Verdict.Refusal != nil {
		return e.refused(ctx, j, j.Verdict.Refusal)
	}
	out := newOutput(j, r, e.limit(j, r, stream != nil), stream)
	if box != nil && len(r.Files) > 0 {
		ctx = context.WithValue(ctx, putKey{}, func() *job.Refusal { return e.putFiles(c, box, j.ID, r.Files) })
	}
	begin := time.Now()
	res, git, err := e.execute(ctx, j)
	err = errors.Join(err, out.close(res))
	a := answer(j, r, res, err)
	e.opts.jailFailed(a, err)
	e.tell(a, shown)
	a.Git, a.Changes = git, e.keep(ctx, c, j, res, begin)
	out.put(a)
	a.Hints = hints(j, res, out.last)
	out.redact(j, a)
	return a
}

// jailFailed tells the operator that this machine could not make the jail of a run.
func (o *Options) jailFailed(a *Response, err error) {
	if a.Error != nil && a.Error.Layer == "jail" && o.JailFailed != nil {
		o.JailFailed(a.ID, err)
	}
}

// limit returns how much of each stream is kept; 0 means all. It clears the jail's own output limit: if the jail
// truncated the output, the filter could not recognise part of a secret.
func (e *Engine) limit(j *job.Job, r *Request, stream bool) nsjail.Bytes {
	kept := e.opts.MaxOutput
	if stream {
		kept = 0 // the caller gets it in pieces
	}
	l := &j.Spec.Limits.Output
	for _, n := range []nsjail.Bytes{r.MaxOutput, *l} {
		if n > 0 && (kept == 0 || n < kept) {
			kept = n
		}
	}
	*l = 0
	return kept
}

// putKey is the context key of a function that is called just before a run, after its event was logged.
type putKey struct{}

// last is the innermost Executor.
type last struct{ *Engine }

// Execute stores a request's files in its sandbox, and runs the Job, by a parked interpreter if one fits.
func (l last) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if put, ok := ctx.Value(putKey{}).(func() *job.Refusal); ok && j.Verdict.Refusal == nil {
		if no := put(); no != nil {
			j.Refuse(no)
		}
	}
	defer l.track(j)()
	p := l.parkedFor(j)
	if p == nil {
		return l.runGit(ctx, j)
	}
	j.Handover = l.handover(p, j)
	res, err := l.jails.Execute(ctx, j)
	if res != nil {
		l.ran(p, j, res.Warm)
	}
	return res, err
}

// refused returns the Response to a refused request. Its Job passes the chain of Executors, so that the refusal is
// logged.
func (e *Engine) refused(ctx context.Context, j *job.Job, no *job.Refusal) *Response {
	j.Refuse(no)
	res, err := e.chain.Execute(ctx, j)
	return answer(j, &Request{}, res, err)
}

// answer converts a Result, or the error if there is none, to a Response.
func answer(j *job.Job, r *Request, res *nsjail.Result, err error) *Response {
	a := &Response{ID: j.ID, Status: string(nsjail.StatusError), ExitCode: -1, Narrowed: j.Verdict.Narrowed}
	var no *job.Refusal
	var jail *nsjail.Error
	var exec *nsjail.ExecError
	switch {
	case errors.As(err, &no):
		a.Status, a.Error = "refused", no
		return a
	case res == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		a.Status = string(nsjail.StatusCancelled)
		return a
	case res == nil && full(err):
		a.Error = machineFull()
		return a
	case errors.As(err, &exec):
		cause := *exec.Cause
		if exec.OfHost {
			cause.Remedy = "" // it is about files of the host
		}
		a.Error = jailRefusal(r, &cause)
		a.Denials = []denial.Denial{(&nsjail.ExecError{Cause: &cause}).Denial()}
		return a
	case errors.As(err, &jail):
		a.Error = jailRefusal(r, jail)
		return a
	case res == nil && err != nil:
		a.Error = refuse("jail", "jail_failed", "", "the jail has failed", tellOperator)
		return a
	}
	a.Status, a.ExitCode, a.Signal, a.TimedOut = string(res.Status), res.ExitCode, res.Signal, res.TimedOut
	a.Usage, a.LimitsHit, a.Enforced, a.Warm = &res.Usage, res.LimitsHit, enforced(res.Enforced), res.Warm
	a.Image = res.Image
	a.Violations, a.Denials = violations(res), slices.Clone(res.Denials)
	if res.Network != nil {
		if a.Network, err = json.Marshal(res.Network.Worded(inRequest)); err != nil {
			a.Network = nil // cannot happen: it is plain data
		}
	}
	return a
}

// enforced returns what enforces each mechanism, for requests.
func enforced(list map[string]words.Text) map[string]string {
	neutral := make(map[string]string, len(list))
	for name, t := range list {
		neutral[name] = t.String()
	}
	return neutral
}

// full reports whether an error is a temporary lack of descriptors, memory, processes or namespaces. For a step of the
// jail's program only a lack of memory is temporary; other limits would be reached again.
func full(err error) bool {
	if step, ok := errors.AsType[*nsjail.Error](err); ok && step.Of > 0 {
		return step.Errno == unix.ENOMEM
	}
	return slices.ContainsFunc([]error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN, unix.ENOSPC},
		func(e error) bool { return errors.Is(err, e) })
}

// machineFull returns the Refusal for a run for which the machine, or brigd's share of it, has no resources at present.
func machineFull() *job.Refusal {
	return refuse("jail", "machine_full", "", "this machine has no room for another jail at present",
		"send the same request again in a few seconds")
}

// inRequest is the dialect of requests, which have other fields than a Spec: advice about those is left out. Rules for
// the network are in a list of its own.
func inRequest(r words.Ref) (string, bool) {
	if r.Field == "allow" {
		return words.Ref{Field: "network", Value: r.Value}.String(), true
	}
	return "", false
}

// jailRefusal returns the Refusal for a jail that could not be made.
func jailRefusal(r *Request, e *nsjail.Error) *job.Refusal {
	switch {
	case e.Op == "exec" && e.Fault != spec.FaultBrig:
		return refuse("jail", "command_not_runnable", e.Op, e.Error(), "name a program that is in the jail: "+
			"what the machine has in /usr/bin, or a file below /work that is executable")
	case e.Fault == spec.FaultHost:
		return hostRefusal(r, e)
	case e.Fault == spec.FaultCaller:
		op := strings.TrimPrefix(e.Op, "limits.") // the request has limits under their names
		no := refuse("jail", "bad_request", op, e.Named(op).In(inRequest))
		if fix := e.Remedy.In(inRequest); fix != "" {
			no.NextSteps = []string{fix}
		}
		return no
	}
	return refuse("jail", "jail_failed", e.Op, e.Op+": the jail could not be made", tellOperator)
}

// violations lists the forbidden operations that the run attempted.
func violations(res *nsjail.Result) (list []Violation) {
	if v := res.Violation; v != nil {
		list = append(list, Violation{Type: "syscall", Detail: v.Syscall, Count: int64(v.Count)})
	}
	if n := res.Network; n != nil && n.ByVerdict[egress.VerdictDeny] > 0 {
		var why []string
		for _, reason := range slices.Sorted(maps.Keys(n.ByReason)) {
			why = append(why, string(reason))
		}
		list = append(list, Violation{Type: "network", Detail: strings.Join(why, ", "),
			Count: int64(n.ByVerdict[egress.VerdictDeny])})
	}
	return list
}
