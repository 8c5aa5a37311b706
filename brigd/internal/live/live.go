// Package live tracks the running jails and reads the usage of their control groups.
package live

import (
	"context"
	"slices"
	"strings"
	"sync"

	"brig/brigd/job"
	"brig/cgroup"
	"brig/nsjail"
)

// Run is a run that goes on.
type Run struct {
	// ID names the run.
	ID string `json:"id"`
	// Usage is what its control group uses now. Compare oom_kills with 0: more means that the kernel has killed a process
	// of the run for want of memory.
	Usage *cgroup.LiveUsage `json:"usage,omitempty"`
	// NoUsage is why there is no usage.
	NoUsage string `json:"no_usage,omitempty"`
}

// Table holds the running jails. The zero Table is empty. Its methods are safe for concurrent use.
type Table struct {
	runs sync.Map // of jails, by the id of the run
}

type jail struct {
	sandbox string
	cmd     *nsjail.Cmd
}

// Wrap returns an Executor that registers each jail of next while it runs.
func (t *Table) Wrap(next job.Executor) job.Executor { return executor{t, next} }

type executor struct {
	*Table
	next job.Executor
}

// Execute runs a Job.
func (e executor) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	started := j.Started
	j.Started = func(c *nsjail.Cmd) {
		e.runs.Store(j.ID, jail{j.Sandbox, c})
		if started != nil {
			started(c)
		}
	}
	defer e.runs.Delete(j.ID)
	return e.next.Execute(ctx, j)
}

// Run returns the usage of a run.
func (t *Table) Run(id string) Run {
	j, ok := t.runs.Load(id)
	if !ok {
		return Run{ID: id, NoUsage: "the run has no jail: it is being made, or has ended"}
	}
	return j.(jail).read(id)
}

// In returns the usage of the runs in a sandbox, sorted by their ids.
func (t *Table) In(sandbox string) []Run {
	list := []Run{}
	for id, j := range t.runs.Range {
		if j.(jail).sandbox == sandbox {
			list = append(list, j.(jail).read(id.(string)))
		}
	}
	slices.SortFunc(list, func(a, b Run) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Sum returns the memory, in bytes, and the number of tasks of all control groups.
func (t *Table) Sum() (memory, tasks float64) {
	for id, j := range t.runs.Range {
		if u := j.(jail).read(id.(string)).Usage; u != nil {
			memory, tasks = memory+value(u.Memory), tasks+value(u.Tasks)
		}
	}
	return memory, tasks
}

func value(f *uint64) float64 {
	if f == nil {
		return 0
	}
	return float64(*f)
}

func (j jail) read(id string) Run {
	usage, err := j.cmd.LiveUsage()
	if err != nil {
		return Run{ID: id, NoUsage: "the jail has ended"}
	}
	if usage == nil {
		return Run{ID: id, NoUsage: "the jail has no control group: no limit of it needs one, or brigd may not create one"}
	}
	return Run{ID: id, Usage: usage}
}
