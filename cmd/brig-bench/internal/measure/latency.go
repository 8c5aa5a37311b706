package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// idling is long enough for the processors to sleep and for the kernel's grace periods to go the slow way.
const idling = 150 * time.Millisecond

// BaseTool is what every contender is compared with.
const BaseTool = "brig run"

// smallLimits are what a jail with a control group has in the comparison of limits.
var smallLimits = peers.Limits{Memory: 64 << 20, CPUs: 1, Processes: 64}

func latency() Dimension {
	return Dimension{"start", "Start to exit, back to back", func(ctx context.Context, e *Env) (result.Table, error) {
		return startToExit(ctx, e, result.Table{ID: "start", Title: "Start to exit, back to back",
			Question: "How long does a jail take that runs /bin/true, one right after the other?"},
			Plan{Rounds: e.Count(200, 30), Warm: 3, Budget: e.budget(120, 6)}, peers.Limits{}, nil)
	}}
}

func latencyIdle() Dimension {
	return Dimension{"start-idle", "Start to exit, after idling", func(ctx context.Context, e *Env) (result.Table, error) {
		return startToExit(ctx, e, result.Table{ID: "start-idle", Title: "Start to exit, after idling",
			Question: fmt.Sprintf("How long does the same jail take after %v in which nothing has happened?", idling)},
			Plan{Rounds: e.Count(50, 6), Warm: 1, Idle: idling, Budget: e.budget(150, 6), Brisk: e.Quick}, peers.Limits{}, nil)
	}}
}

func latencyLimits() Dimension {
	return Dimension{"start-limits", "Start to exit, in a control group", func(ctx context.Context, e *Env) (result.Table, error) {
		return startToExit(ctx, e, result.Table{ID: "start-limits", Title: "Start to exit, in a control group",
			Question: "How long does the jail take with 64 MiB of memory, one processor and 64 processes at most?"},
			Plan{Rounds: e.Count(100, 20), Warm: 2, Budget: e.budget(90, 4)}, smallLimits,
			func(t *peers.Tool) bool { return t.Limits })
	}}
}

// budget is a bound on the rounds, in seconds; none when the user has said how many.
func (e *Env) budget(full, quick int) time.Duration {
	switch {
	case e.Rounds > 0:
		return 0
	case e.Quick:
		return time.Duration(quick) * time.Second
	}
	return time.Duration(full) * time.Second
}

// startToExit times /bin/true in the jail of each tool that fits.
func startToExit(ctx context.Context, e *Env, t result.Table, p Plan, limits peers.Limits, fits func(*peers.Tool) bool) (_ result.Table, err error) {
	t.Unit, p.Words, p.Base = "ms", stats.Time, BaseTool
	var all []Contender
	var refused []result.Row
	for _, tool := range e.Tools {
		if fits != nil && !fits(tool) {
			continue
		}
		e.say("%s: preparing", tool.Info.Name)
		ready, perr := tool.Prepare(peers.Job{Args: []string{"/bin/true"}, Limits: limits})
		if perr != nil {
			refused = append(refused, result.Row{Tool: tool.Info.Name, Error: perr.Error()})
			continue
		}
		defer func() { err = errors.Join(err, ready.Close()) }()
		all = append(all, Contender{tool.Info.Name, func(context.Context) (float64, error) {
			start := time.Now()
			err := ready.Run()
			return millis(time.Since(start)), err
		}})
	}
	s, err := Interleave(ctx, e, p, all)
	if err != nil {
		return t, err
	}
	t.Rows, t.Notes = append(s.Rows(), refused...), s.Notes()
	return t, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
