package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// clients are how many keep a tool busy at once.
var clients = []int{1, 2, 4, 8, 16}

func throughput() Dimension {
	return Dimension{"throughput", "Jails a second", runThroughput}
}

// runThroughput lets every tool have several short turns for each number of clients; a turn is a sample, and the turns
// of all tools interleave.
func runThroughput(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: "throughput", Title: "Jails a second", Unit: "1/s", Higher: true, X: "clients",
		Question: "How many jails that run /bin/true can be made in a second, by so many clients at once?"}
	turn := 300 * time.Millisecond
	if e.Quick {
		turn = 40 * time.Millisecond
	}
	readies := map[string]*peers.Ready{}
	var names []string
	for _, tool := range e.Tools {
		ready, perr := tool.Prepare(peers.Job{Args: []string{"/bin/true"}})
		if perr != nil {
			t.Rows = append(t.Rows, result.Row{Tool: tool.Info.Name, Error: perr.Error()})
			continue
		}
		defer func() { err = errors.Join(err, ready.Close()) }()
		start := time.Now()
		if rerr := ready.Run(); rerr != nil {
			t.Rows = append(t.Rows, result.Row{Tool: tool.Info.Name, Error: rerr.Error()})
			continue
		}
		if took := time.Since(start); e.Quick && took > slow {
			t.Notes = append(t.Notes, fmt.Sprintf("left out of a quick run: %s, which took %d ms for one", tool.Info.Name, took.Milliseconds()))
			continue
		}
		readies[tool.Info.Name] = ready
		names = append(names, tool.Info.Name)
	}
	for _, n := range clients {
		if e.Quick && n != 1 && n != 4 && n != 16 {
			continue
		}
		var all []Contender
		for _, name := range names {
			all = append(all, Contender{name, func(ctx context.Context) (float64, error) { return rate(ctx, readies[name], n, turn) }})
		}
		s, err := Interleave(ctx, e, Plan{Rounds: e.Count(8, 5), Base: BaseTool, Words: stats.Rate, Budget: e.budget(30, 1)}, all)
		if err != nil {
			return t, err
		}
		for _, row := range s.Rows() {
			row.X = float64(n)
			t.Rows = append(t.Rows, row)
		}
		for i, note := range s.Notes() {
			if i > 0 { // of this number of clients
				t.Notes = append(t.Notes, fmt.Sprintf("clients: %d; %s", n, note))
			} else if n == clients[0] {
				t.Notes = append([]string{note}, t.Notes...)
			}
		}
	}
	return t, nil
}

// rate has n clients make jails for a turn, and counts those that have ended until the last client is done: a jail that
// is slower than the turn counts, too.
func rate(ctx context.Context, ready *peers.Ready, n int, turn time.Duration) (float64, error) {
	var wg sync.WaitGroup
	var made atomic.Int64
	failed := make(chan error, n)
	start := time.Now()
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil && time.Since(start) < turn {
				if err := ready.Run(); err != nil {
					failed <- err
					return
				}
				made.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	select {
	case err := <-failed:
		return 0, err
	default:
		return float64(made.Load()) / took.Seconds(), ctx.Err()
	}
}
