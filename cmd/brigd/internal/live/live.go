// Package live knows the jails that run now, and reads what their control groups use.
package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"brig/cgroup/monitor"
	"brig/nsjail"
)

// Run is a run that goes on.
type Run struct {
	// ID names the run.
	ID string `json:"id"`
	// Usage is what its control group uses now. Compare oom_kills with 0: more means that the kernel has killed a process
	// of the run for want of memory.
	Usage *monitor.Stats `json:"usage,omitempty"`
	// NoUsage is why there is no usage.
	NoUsage string `json:"no_usage,omitempty"`
}

// Table holds the jails that run now. The zero Table is empty. Its methods can be called concurrently.
type Table struct {
	mu   sync.Mutex
	runs map[string]jail // by the id of the run
}

type jail struct {
	sandbox string
	group   monitor.Group
}

// Wrap notes the jails that an Executor starts, until it returns.
func (t *Table) Wrap(next nsjail.Executor) nsjail.Executor { return executor{t, next} }

type executor struct {
	*Table
	next nsjail.Executor
}

// Execute runs a Job.
func (e executor) Execute(ctx context.Context, j *nsjail.Job) (*nsjail.Result, error) {
	started := j.Started
	j.Started = func(c *nsjail.Cmd) {
		v2, v1 := c.ControlGroup()
		e.add(j.ID, jail{j.Sandbox, monitor.Group{V2: v2, V1: v1}})
		if started != nil {
			started(c)
		}
	}
	defer e.remove(j.ID)
	return e.next.Execute(ctx, j)
}

func (t *Table) add(id string, j jail) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.runs == nil {
		t.runs = map[string]jail{}
	}
	t.runs[id] = j
}

func (t *Table) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, id)
}

// Run reads what a run uses.
func (t *Table) Run(id string) Run {
	t.mu.Lock()
	j, ok := t.runs[id]
	t.mu.Unlock()
	if !ok {
		return Run{ID: id, NoUsage: "the run has no jail: it is being made, or has ended"}
	}
	return j.read(id)
}

// In reads what the runs in a sandbox use, in the order of their ids.
func (t *Table) In(sandbox string) []Run {
	list := []Run{}
	for id, j := range t.copy() {
		if j.sandbox == sandbox {
			list = append(list, j.read(id))
		}
	}
	slices.SortFunc(list, func(a, b Run) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Sum adds the memory, in bytes, and the tasks of all control groups.
func (t *Table) Sum() (memory, tasks float64) {
	for id, j := range t.copy() {
		if u := j.read(id).Usage; u != nil {
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

func (t *Table) copy() map[string]jail {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.runs)
}

func (j jail) read(id string) Run {
	if j.group.V2 == "" && len(j.group.V1) == 0 {
		return Run{ID: id, NoUsage: "the jail has no control group: no limit of it needs one, or brigd may not create one"}
	}
	usage, err := monitor.Read(j.group)
	switch {
	case errors.Is(err, monitor.ErrRemoved):
		return Run{ID: id, NoUsage: "the jail has ended"}
	case err != nil:
		return Run{ID: id, NoUsage: "the control group cannot be read"}
	}
	return Run{ID: id, Usage: usage}
}
