// Package job has what the agents' side hands on: a Job is a request for one run, and an Executor runs it. Each wrapper
// takes an Executor and returns one that narrows the Job's Spec, replaces a stream, refuses the Job or logs it. On is
// the innermost Executor, which makes the jail.
package job

import (
	"context"
	"io"

	"brig/nsjail"
)

// Job is a request for one run. Executors that wrap another one can narrow its Spec, replace a stream, refuse it or log
// it before they pass it on. A Job is used once.
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
	Image *Image

	Spec           nsjail.Spec
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	NetworkLog     io.Writer
	Handover       *nsjail.Handover // see nsjail.Cmd.Handover
	// Started, if set, is called when the payload runs.
	Started func(*nsjail.Cmd)
	// Ended, if set, is called when all processes of a started jail have ended, before its remaining output is read.
	Ended func()

	// Box is set for the Job of a box that lives: Spec.Args is no command, and those that follow in it are Jobs of their
	// own.
	Box bool
	// By, if set, runs the Job at the end of a chain of Executors that ends so: an engine knows what comes right before
	// and after the jail.
	By Executor

	// Redact, if set, removes secrets from a text before it is shown or logged.
	Redact func(string) string

	// Verdict is what the Executors have decided so far.
	Verdict Verdict
	// PlanDigest is the SHA-256, in hexadecimal, of the programs that the launcher performed. On sets it if
	// WantPlanDigest is set.
	PlanDigest     string
	WantPlanDigest bool
}

// Image is the image of a Job.
type Image struct {
	Name, Digest string
	User         string   // Spec.User, if the image gives it
	Env          []string // entries of Spec.Env that are the image's
}

// Executor runs Jobs: On a Runner, or a wrapper around another Executor. If the error is a *Refusal, a wrapper refused
// the Job and nothing has run. Any other error means that the jail could not be made.
type Executor interface {
	Execute(ctx context.Context, j *Job) (*nsjail.Result, error)
}

// On returns the innermost Executor, which runs Jobs in jails of a Runner and returns the Refusal of a refused one.
func On(r *nsjail.Runner) Executor { return jails{r} }

type jails struct{ runner *nsjail.Runner }

// Execute runs a Job, or returns its Refusal.
func (d jails) Execute(ctx context.Context, j *Job) (*nsjail.Result, error) {
	if j.Verdict.Refusal != nil {
		return nil, j.Verdict.Refusal
	}
	c := d.runner.CommandSpec(ctx, j.Spec)
	c.Stdin, c.Stdout, c.Stderr, c.NetworkLog = j.Stdin, j.Stdout, j.Stderr, j.NetworkLog
	c.WantPlanDigest, c.Ended, c.Handover = j.WantPlanDigest, j.Ended, j.Handover
	err := c.Start()
	if j.PlanDigest = c.PlanDigest(); err != nil {
		return nil, err
	}
	if j.Started != nil {
		j.Started(c)
	}
	return c.Wait()
}
