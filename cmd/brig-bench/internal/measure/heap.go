package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/procfs"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// heapSizes are the live heaps of an embedding process, in MiB.
var heapSizes = []int{0, 256, 1024, 4096}

func heap() Dimension {
	return Dimension{"heap", "Start under a large heap", runHeap}
}

// runHeap keeps a process for each size and asks them in turn: each is compared with the smallest in the same round.
func runHeap(ctx context.Context, e *Env) (result.Table, error) {
	t := result.Table{ID: "heap", Title: "Start under a large heap", Unit: "ms", X: "MiB of live heap",
		Question: "How long does a jail take when the process that starts it has a large heap?",
		Notes:    []string{"bar: brig Runner at most 1.3 of itself under an empty heap"}}
	sizes := heapSizes
	if e.Quick {
		sizes = []int{0, 1024}
	}
	sizes, skipped, err := affordable(sizes)
	if err != nil {
		return t, err
	}
	t.Notes = append(t.Notes, skipped...)
	names := append(present(e, "no jail", "brig Runner", "brig Runner, prestarted"), load.Namespaces)
	return acrossWorkers(ctx, e, t, names, sizes, Plan{Rounds: e.Count(60, 15), Warm: 2, Budget: e.budget(40, 2)},
		func(ctx context.Context, mib int) (*load.Client, error) {
			dir, err := e.scratch()
			if err != nil {
				return nil, err
			}
			return load.Self(ctx, load.Config{Heap: int64(mib) << 20, Brig: e.Brig, Scratch: dir})
		})
}

// scratch makes a directory for the tools' files of one worker. Some are a jail's root, which every user may read.
func (e *Env) scratch() (string, error) {
	dir, err := os.MkdirTemp(e.Dir, "load-")
	return dir, errors.Join(err, os.Chmod(dir, 0o755))
}

// affordable leaves out heaps that together with the smaller ones would take more than half of the free memory: all live
// at once.
func affordable(sizes []int) (fit []int, notes []string, err error) {
	k, err := procfs.ReadKernel()
	if err != nil {
		return nil, nil, err
	}
	fit, left := within(sizes, k.Available>>21)
	for _, mib := range left {
		notes = append(notes, fmt.Sprintf("left out: %d MiB is too much for this machine, which has %d MiB free", mib, k.Available>>20))
	}
	return fit, notes, nil
}

// within splits sizes into those whose running sum is within a bound, and the others.
func within(sizes []int, bound int64) (fit, left []int) {
	var sum int64
	for _, s := range sizes {
		if sum+int64(s) > bound {
			left = append(left, s)
			continue
		}
		sum += int64(s)
		fit = append(fit, s)
	}
	return fit, left
}

// present gives the names of tools that take part, in the given order.
func present(e *Env, names ...string) (list []string) {
	for _, name := range names {
		for _, t := range e.Tools {
			if t.Info.Name == name && t.Info.Absent == "" {
				list = append(list, name)
			}
		}
	}
	return list
}

// acrossWorkers times tools in workers that differ in one thing, xs, and compares each tool with itself at the first x.
func acrossWorkers(ctx context.Context, e *Env, t result.Table, names []string, xs []int, p Plan,
	start func(ctx context.Context, x int) (*load.Client, error)) (_ result.Table, err error) {
	var all []Contender
	for _, x := range xs {
		e.say("%s %d: starting", t.X, x)
		c, serr := start(ctx, x)
		if serr != nil {
			return t, serr
		}
		defer func() { err = errors.Join(err, ignoreEnd(ctx, c.Close())) }()
		for _, name := range names {
			// a tool that cannot be prepared says so when it is sampled
			_, _ = c.Ask(load.Request{Op: "run", Arg: name})
			all = append(all, Contender{at(name, x), func(context.Context) (float64, error) {
				r, err := c.Ask(load.Request{Op: "run", Arg: name, N: 1})
				if err != nil {
					return 0, err
				}
				return float64(r.Nanos[0]) / 1e6, nil
			}})
		}
	}
	p.Base, p.Words = at(names[0], xs[0]), stats.Time
	s, err := Interleave(ctx, e, p, all)
	if err != nil {
		return t, err
	}
	rows := s.Rows()
	for _, name := range names {
		for _, x := range xs {
			row := rows[slices.IndexFunc(rows, func(r result.Row) bool { return r.Tool == at(name, x) })]
			row.Tool, row.X, row.Ratio = name, float64(x), nil
			if x != xs[0] && row.Error == "" {
				row.Ratio = stats.Compare(fmt.Sprintf("itself at %d", xs[0]), s.Samples(at(name, x)), s.Samples(at(name, xs[0])), s.Floor(), p.Words)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = append(t.Notes, s.Notes()...)
	return t, nil
}

// at is a contender's name where a tool takes part several times.
func at(name string, x int) string { return fmt.Sprintf("%s at %d", name, x) }

// ignoreEnd drops the error of a worker that the end of the context has killed.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
