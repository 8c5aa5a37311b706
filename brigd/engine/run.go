package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"brig/brigd/freezer"
	"brig/brigd/job"
	"brig/brigd/lease"
	"brig/brigd/workspace"
	"brig/gitview"
	"brig/internal/words"
	"brig/nsjail"
)

// runs runs requests.
type runs struct {
	requests *requests
	grants   *grants
	boxes    *boxes
	shares   *shares
	leases   *lease.Leases
	files    *files
	changes  *changeSets
	freezer  *freezer.Freezer
	parking  *parking
	jails    job.Executor
	jailer   *nsjail.Runner
	lives    *lives
	chain    job.Executor // ends in last
	failed   func(run string, err error)
}

// Run runs a request. It always returns a Response. With a stream, the output is passed to that during the run, in one
// call at a time; a stream that blocks also blocks the payload. Cancelling ctx ends the run.
func (s *runs) Run(ctx context.Context, c Caller, r *Request, stream func(Event)) *Response {
	return (&run{runs: s, caller: c, request: r, by: s.jails}).perform(ctx, stream)
}

// perform runs the request.
func (x *run) perform(ctx context.Context, stream func(Event)) *Response {
	s, c, r := x.runs, x.caller, x.request
	if c.Agent == "" {
		c.Agent = r.Agent
	}
	x.caller = c
	defer x.release()
	ctx, no := x.prepare(ctx, stream != nil)
	j := x.job
	if no != nil {
		return s.refused(ctx, j, no)
	}
	j.By = x
	out := newOutput(j, r, s.requests.defaults.limit(j, r, stream != nil), stream)
	begin := time.Now()
	res, err := s.chain.Execute(ctx, j)
	err = errors.Join(err, out.close(res))
	a := answer(j, r, res, err)
	if a.Error != nil && a.Error.Layer == "jail" {
		s.failed(a.ID, err)
	}
	s.shares.tell(a, x.shown)
	a.Git, a.Changes = x.git, s.changes.keep(ctx, c, j, res, begin)
	out.put(a)
	a.Hints = hints(j, res, out.last)
	out.redact(j, a)
	return a
}

// refused returns the Response to a refused request. Its Job passes the chain of Executors, so that the refusal is
// logged.
func (s *runs) refused(ctx context.Context, j *job.Job, no *job.Refusal) *Response {
	j.Refuse(no)
	res, err := s.chain.Execute(ctx, j)
	return answer(j, &Request{}, res, err)
}

// last is the end of a chain of Executors. It runs a Job by the Executor that the Job brings, or by jails.
type last struct{ jails job.Executor }

// Execute implements job.Executor.
func (l last) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if j.By != nil {
		return j.By.Execute(ctx, j)
	}
	return l.jails.Execute(ctx, j)
}

// run is one request that is being run.
type run struct {
	*runs
	caller  Caller
	request *Request
	by      job.Executor // makes the jail
	life    *life        // that it is, or nil
	process *process     // that it is, or nil

	job   *job.Job
	box   *workspace.Sandbox // nil outside of a sandbox
	shown []Mount
	ends  []func() // of what it holds
	git   []GitDir // what has become of git directories
}

// prepare makes the Job, and acquires what it needs. The run ends with the context that it returns.
func (x *run) prepare(ctx context.Context, stream bool) (context.Context, *job.Refusal) {
	c, r := x.caller, x.request
	if l := x.lives.of(r.Sandbox); l != nil && x.life == nil && !r.Apart {
		return x.prepareInBox(ctx, l, stream)
	}
	j, no := x.requests.prepare(ctx, c, r)
	if x.job = j; no != nil {
		return ctx, no
	}
	if r.Sandbox != "" {
		acquire := (*workspace.Sandbox).Acquire
		if x.life != nil {
			acquire = (*workspace.Sandbox).Reside
		}
		var leave func()
		if ctx, x.box, leave, no = x.boxes.enter(ctx, c, j, acquire); no != nil {
			return ctx, no
		}
		x.ends = append(x.ends, leave)
		j.Spec.Mounts = append(workspace.Mounts(x.box.Volume), j.Spec.Mounts...)
	}
	shown, unmount, no := x.shares.mount(c, j, x.box, r.Mounts)
	if no != nil {
		return ctx, no
	}
	x.shown, x.ends = shown, append(x.ends, unmount)
	j.Ended = r.Ended
	j.Box = x.life != nil
	x.requests.decide(c, j, r, stream)
	if j.Box {
		x.requests.languages.showAll(j)
		j.Spec.Limits.Wall = -1 // it ends with its sandbox
	} else {
		x.requests.languages.show(j)
	}
	return x.lend(ctx)
}

// lend makes the run end with the token of its caller, and counts it in the token's ledger.
func (x *run) lend(ctx context.Context) (context.Context, *job.Refusal) {
	ctx, end := x.leases.Lend(ctx, x.caller.Grant.verified(), x.job, time.Now())
	x.ends = append(x.ends, end)
	x.grants.spend(x.caller, x.job)
	return ctx, x.job.Verdict.Refusal
}

// release releases what the run holds, the last first.
func (x *run) release() {
	for _, end := range slices.Backward(x.ends) {
		end()
	}
}

// Execute stores the request's files in its sandbox, and runs the Job, by a parked interpreter if one fits. It is the
// end of the chain: the start of the run is logged.
func (x *run) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if x.box != nil && j.Verdict.Refusal == nil {
		if no := x.files.putAll(x.caller, x.box, j.ID, x.request.Files); no != nil {
			j.Refuse(no)
		}
	}
	if l, ok := x.by.(inner); ok {
		return l.Execute(ctx, j)
	}
	defer x.freezer.Track(j)()
	if x.life != nil {
		return x.withGit(ctx, j)
	}
	if p := x.parking.parkedFor(j); p != nil {
		return x.parking.execute(ctx, p, j)
	}
	return x.withGit(ctx, j)
}

// withGit runs a Job with views of the git directories of its writable shares.
func (x *run) withGit(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	run := func(s *nsjail.Spec) (*nsjail.Result, error) {
		inner := *j
		inner.Spec = *s
		res, err := x.by.Execute(ctx, &inner)
		j.PlanDigest = inner.PlanDigest
		return res, err
	}
	if j.Verdict.Refusal != nil {
		return x.by.Execute(ctx, j)
	}
	res, list, note, err := gitview.Run(ctx, &j.Spec, run)
	if note != "" && res != nil {
		res.Enforced["git"] = words.Plain(note)
	}
	for _, r := range list {
		if r.ReadOnly != "" {
			res.Enforced["git"] = words.Plain(r.Target + " is read-only: " + r.ReadOnly)
			continue
		}
		x.git = append(x.git, GitDir{r.Target, r.Files, r.Removed, r.LeftBehind, r.Left, r.Conflicts,
			x.shares.hide(r.Error)})
	}
	return res, err
}
