package nsjail

import (
	"context"
	"io"

	"brig/nsjail/internal/spec"
)

// Job is one run on its way to a Runner, as the wrappers around it see it: each may narrow the Spec, replace a stream,
// refuse, or write down what it sees, and hands the Job on. A Job is used once.
type Job struct {
	// ID names the run in logs; whoever makes the Job chooses it.
	ID string
	// Agent is on whose behalf it runs, and Token the id of the capability that allowed it; "" where there is none.
	Agent, Token string
	// Sandbox is the id of the work area that it runs in; "" for none.
	Sandbox string
	// Language and Code are what Spec.Args was made from, if it was; Code is not used to run.
	Language string
	Code     []byte

	Spec           spec.Spec
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	NetworkLog     io.Writer
	// Started, if set, is called once the payload runs.
	Started func(*Cmd)
	// Ended, if set, is called once no process of a jail that has started is left, and before its output is waited for.
	Ended func()

	// Redact, if set, takes secrets out of a text that is to be shown or written down.
	Redact func(string) string

	// Verdict is what has been decided about the Job on its way.
	Verdict Verdict
	// PlanDigest is the SHA-256, in hexadecimal, of the programs that the launcher has performed; set by Runner.Execute
	// if WantPlanDigest is.
	PlanDigest     string
	WantPlanDigest bool
}

// Verdict is what the wrappers decided about a Job.
type Verdict struct {
	// Refusal, once set, keeps the Job from running: whoever is further in still sees it pass, so that it can be written
	// down, and Runner.Execute answers with it.
	Refusal *Refusal
	// Policies are the names of what was asked and allowed it, and Narrowed what they changed in the Spec, a sentence
	// each.
	Policies, Narrowed []string
}

// Refuse sets the Job's Refusal, unless there is one.
func (j *Job) Refuse(r *Refusal) {
	if j.Verdict.Refusal == nil {
		j.Verdict.Refusal = r
	}
}

// Executor runs Jobs: a Runner, or a wrapper around one. A *Refusal as error says that nothing has run because somebody
// said no; any other error, that the jail could not be made.
type Executor interface {
	Execute(ctx context.Context, j *Job) (*Result, error)
}

// Refusal is a no that a program, or a model, can act on.
type Refusal struct {
	// Message is one sentence: what is not allowed, and why.
	Message string `json:"error"`
	// Code is a word for programs: "command_not_allowed".
	Code string `json:"code"`
	// Layer is who said no: request, auth, token, policy, quota, queue, sandbox or jail.
	Layer string `json:"layer"`
	// Rule is what said so: a field of a policy ("commands"), of a token or of the request, and whose ("minimal:
	// commands").
	Rule string `json:"rule,omitempty"`
	// NextSteps are sentences that say how to proceed.
	NextSteps []string `json:"next_steps,omitempty"`
}

// Error is who says no, and the sentence.
func (r *Refusal) Error() string { return r.Layer + ": " + r.Message }

// Execute runs a Job, unless it was refused.
func (r *Runner) Execute(ctx context.Context, j *Job) (*Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	c := r.CommandSpec(ctx, j.Spec)
	c.Stdin, c.Stdout, c.Stderr, c.NetworkLog = j.Stdin, j.Stdout, j.Stderr, j.NetworkLog
	c.wantDigest, c.ended = j.WantPlanDigest, j.Ended
	err := c.Start()
	if j.PlanDigest = c.digest; err != nil {
		return nil, err
	}
	if j.Started != nil {
		j.Started(c)
	}
	return c.Wait()
}
