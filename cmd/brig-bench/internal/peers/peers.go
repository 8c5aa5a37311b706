// Package peers knows the tools that brig is compared with, brig among them: whether each is installed, how to make it
// build the jail that brig makes by default, and where it cannot. Each tool has a file.
package peers

import (
	"context"
	"io"

	"brig/cmd/brig-bench/internal/result"
)

// Kind is what a tool is to a comparison.
type Kind int

// The kinds.
const (
	Bare    Kind = iota // a process without a jail
	Cold                // the brig program, started anew for each jail
	Library             // package nsjail, in this process
	Peer                // somebody else's program
)

// Limits are what a control group holds.
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors' worth of time
	Processes int64
}

// Bind shows a directory or file of the host in the jail.
type Bind struct {
	Source, Target string
	Writable       bool
}

// Job is what a jail is for. The zero Limits are brig's defaults: no control group.
type Job struct {
	Args   []string // the command by its absolute path in the jail, which has the host's /usr
	Limits Limits
	Binds  []Bind
}

// Streams are the payload's; nil is /dev/null. A Wait waits for writers that are no *os.File to have everything.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Running is a jail that has been started.
type Running interface {
	// Pid is that of the process that was started: the tool's own, the jail's first process for the library; 0 if
	// nobody knows.
	Pid() int
	// Wait waits for the end. An error says that the payload did not exit with 0, and why.
	Wait() error
	// Kill ends the jail with whatever the tool has for it; Wait is still to be called.
	Kill()
}

// Ready can make the jails of one job.
type Ready struct {
	start func(Streams) (Running, error)
	close func() error
}

// Start makes a fresh jail and starts the job in it.
func (r *Ready) Start(s Streams) (Running, error) { return r.start(s) }

// Run makes a fresh jail, runs the job in it and waits for its end, with empty streams.
func (r *Ready) Run() error {
	p, err := r.start(Streams{})
	if err != nil {
		return err
	}
	return p.Wait()
}

// Close takes back what Prepare has made.
func (r *Ready) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// Tool is a contender. Info.Absent says why it takes no part.
type Tool struct {
	Info    result.Tool
	Kind    Kind
	Limits  bool // takes Job.Limits
	Binds   bool // takes Job.Binds
	open    func(context.Context) error
	prepare func(Job) (*Ready, error)
	close   func() error
}

// Open starts what the tool cannot do without, an engine say; if that fails, the tool is absent.
func (t *Tool) Open(ctx context.Context) {
	if t.Info.Absent != "" || t.open == nil {
		return
	}
	if err := t.open(ctx); err != nil {
		t.Info.Absent = err.Error()
	}
}

// Prepare makes everything for a job that is not part of a start: bundles, runners, profiles.
func (t *Tool) Prepare(j Job) (*Ready, error) { return t.prepare(j) }

// Close ends what Open has started.
func (t *Tool) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}
