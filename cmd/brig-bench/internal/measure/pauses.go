package measure

import (
	"context"
	"errors"
	"fmt"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

func pauses() Dimension {
	return Dimension{"gc", "Pauses of the garbage collector", runPauses}
}

// The turns in which nothing is started, and in which all is started by another process: what the pauses then are is the
// machine's doing.
const (
	nothing   = "nothing is started"
	elsewhere = "brig Runner, another process"
)

// pauseRun is two workers: one whose pauses count, and the other process.
type pauseRun struct {
	worker, other *load.Client
	turn          int // milliseconds
	sums          map[string]*load.Pauses
}

// runPauses lets each way to start processes have several turns in one process, and adds up the pauses of each.
func runPauses(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: "gc", Title: "Pauses of the garbage collector", Unit: "ms",
		Question: "How long does the garbage collector stop a Go process that starts jails from four goroutines at once?",
		Notes: []string{"bar: brig Runner below 2 ms at the 99th percentile",
			"a collection is forced every 5 ms; ratios are of the turns' 90th percentiles"}}
	run := pauseRun{turn: 500, sums: map[string]*load.Pauses{}}
	if e.Quick {
		run.turn = 80
	}
	for _, c := range []**load.Client{&run.worker, &run.other} {
		dir, serr := e.scratch()
		if serr != nil {
			return t, serr
		}
		if *c, err = load.Self(ctx, load.Config{Brig: e.Brig, Scratch: dir}); err != nil {
			return t, err
		}
		defer func() { err = errors.Join(err, ignoreEnd(ctx, (*c).Close())) }()
	}
	names := append([]string{nothing}, present(e, "no jail", "brig Runner", "brig Runner, prestarted")...)
	var all []Contender
	for _, name := range append(names, elsewhere, load.Namespaces) {
		run.sums[name] = &load.Pauses{}
		all = append(all, Contender{name, func(context.Context) (float64, error) { return run.once(name) }})
	}
	s, err := Interleave(ctx, e, Plan{Rounds: e.Count(20, 6), Base: nothing, Words: stats.Time, Budget: e.budget(90, 3)}, all)
	if err != nil {
		return t, err
	}
	for _, row := range s.Rows() {
		if p := run.sums[row.Tool]; row.Error == "" {
			row.N = int(load.Count(p.Buckets))
			row.P50, row.P90, row.P99 = ofPauses(p, 0.5), ofPauses(p, 0.9), ofPauses(p, 0.99)
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %d starts, longest pause %.2f ms", row.Tool, p.Spawned, ofPauses(p, 1)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func ofPauses(p *load.Pauses, q float64) float64 { return float64(load.Quantile(p.Buckets, q)) / 1e6 }

// once is a turn: it adds the pauses to the sum, and gives their 90th percentile in milliseconds.
func (r *pauseRun) once(name string) (float64, error) {
	arg, elsewhereDone := name, make(chan error, 1)
	if name == nothing || name == elsewhere {
		arg = ""
	}
	sum, more := r.sums[name], 0
	go func() {
		var err error
		if name == elsewhere {
			var reply load.Reply
			if reply, err = r.other.Ask(load.Request{Op: "busy", Arg: "brig Runner", N: r.turn}); err == nil {
				more = reply.Pauses.Spawned
			}
		}
		elsewhereDone <- err
	}()
	reply, err := r.worker.Ask(load.Request{Op: "pauses", Arg: arg, N: r.turn})
	if err = errors.Join(err, <-elsewhereDone); err != nil {
		return 0, err
	}
	sum.Buckets = load.Merge(sum.Buckets, reply.Pauses.Buckets)
	sum.Spawned += reply.Pauses.Spawned + more
	return ofPauses(reply.Pauses, 0.9), nil
}
