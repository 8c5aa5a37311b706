package nsjail

import (
	"context"
	"io"

	"brig/nsjail/spec"
)

// Job is a request for one run. Executors that wrap a Runner can narrow its Spec, replace a stream, refuse it or log it
// before they pass it on. A Job is used once.
type Job struct {
	// ID names the run in logs. The creator of the Job chooses it.
	ID string
	// Agent is the client for which it runs, and Token is the id of the capability that allowed it; "" for none.
	Agent, Token string
	// Sandbox is the id of the workspace that it runs in; "" for none.
	Sandbox string
	// Language and Code are the source of Spec.Args, if there is one. They do not affect the run.
	Language string
	Code     []byte

	// Image is the image whose tree is Spec.Rootfs, if the creator of the Job has looked one up. What the image brings
	// is the operator's, and no wish of the request.
	Image *JobImage

	Spec           spec.Spec
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	NetworkLog     io.Writer
	Handover       *Handover // see Cmd.Handover
	// Started, if set, is called when the payload runs.
	Started func(*Cmd)
	// Ended, if set, is called when all processes of a started jail have ended, before its remaining output is read.
	Ended func()

	// Redact, if set, removes secrets from a text before it is shown or logged.
	Redact func(string) string

	// Verdict is what the Executors have decided so far.
	Verdict Verdict
	// PlanDigest is the SHA-256, in hexadecimal, of the programs that the launcher performed. Runner.Execute sets it if
	// WantPlanDigest is set.
	PlanDigest     string
	WantPlanDigest bool
}

// JobImage is the image of a Job.
type JobImage struct {
	Name, Digest string
	User         string   // Spec.User, if the image gives it
	Env          []string // entries of Spec.Env that are the image's
}

// Verdict is what the Executors decided about a Job.
type Verdict struct {
	// Refusal, if set, prevents the run. Inner Executors still receive the Job, so that they can log it, and
	// Runner.Execute returns the Refusal as its error.
	Refusal *Refusal
	// Policies names the policies that allowed the Job. Narrowed lists their changes to the Spec, a sentence each.
	Policies, Narrowed []string
}

// Refuse sets the Refusal of the Job, unless it has one.
func (j *Job) Refuse(r *Refusal) {
	if j.Verdict.Refusal == nil {
		j.Verdict.Refusal = r
	}
}

// Executor runs Jobs: a Runner, or a wrapper around one. If the error is a *Refusal, a wrapper refused the Job and
// nothing has run. Any other error means that the jail could not be made.
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

// Error returns the layer that refused, and the message.
func (r *Refusal) Error() string { return r.Layer + ": " + r.Message }

// Execute runs a Job, or returns its Refusal.
func (r *Runner) Execute(ctx context.Context, j *Job) (*Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	c := r.CommandSpec(ctx, j.Spec)
	c.Stdin, c.Stdout, c.Stderr, c.NetworkLog = j.Stdin, j.Stdout, j.Stderr, j.NetworkLog
	c.wantDigest, c.ended, c.Handover = j.WantPlanDigest, j.Ended, j.Handover
	err := c.Start()
	if j.PlanDigest = c.digest; err != nil {
		return nil, err
	}
	if j.Started != nil {
		j.Started(c)
	}
	return c.Wait()
}
