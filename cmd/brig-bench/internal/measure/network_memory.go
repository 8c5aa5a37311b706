package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

func netMemory() Dimension {
	return Dimension{"net-memory", "Memory of a connection", runNetMemory}
}

// heldAt are the numbers of open connections.
var heldAt = []int{1, connections}

// runNetMemory opens connections through a fresh relay, and looks at its processes.
func runNetMemory(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: "net-memory", Title: "Memory of a connection", Unit: "KiB per connection", X: "open connections",
		Question: "How much do the processes that relay grow with each open connection?"}
	c, left, err := e.arena(ctx)
	if c == nil {
		t.Notes = left
		return t, err
	}
	defer func() { err = errors.Join(err, ignoreEnd(ctx, c.Close())) }()
	got, failed := map[string]map[int][]float64{}, map[string]error{}
	var names []string
	for _, r := range e.relays() {
		if r.Without != "" {
			names = append(names, r.Info.Name)
			got[r.Info.Name] = map[int][]float64{}
		}
	}
	rounds := e.Count(8, 2)
	for i := range rounds {
		for k := range names {
			name := names[(k+i)%len(names)] // each goes first equally often
			if failed[name] != nil {
				continue
			}
			e.say("round %d of %d: %s", i+1, rounds, name)
			failed[name] = perConnection(c, name, got[name])
			if ctx.Err() != nil {
				return t, ctx.Err()
			}
		}
	}
	for _, name := range names {
		for _, n := range heldAt {
			t.Rows = append(t.Rows, heldRow(name, n, got, failed))
		}
	}
	t.Notes = slices.Concat(e.netNotes(), []string{"bar: brig at most 32 KiB with 1,000; the only one has the pages to itself that a first connection touches",
		"proportional set sizes, less that of the same processes without a connection; each connection has had a byte there and one back, and is idle",
		"of brig the keeper counts, which is there in every jail; what the kernel holds for sockets is nobody's",
		fmt.Sprintf("%d rounds, each with fresh processes", rounds)})
	return t, nil
}

// perConnection adds a sample for each number of connections, in KiB for each.
func perConnection(c *load.Client, name string, got map[int][]float64) (err error) {
	ask := func(op string, n int) (load.Reply, error) {
		return c.Ask(load.Request{In: name, Op: op, Arg: load.Server, N: n})
	}
	defer func() {
		_, eerr := ask("net-end", 0)
		err = errors.Join(err, eerr)
	}()
	before, err := ask("net-relay", 0)
	if err != nil {
		return err
	}
	for _, n := range heldAt {
		if _, err := ask("net-hold", n); err != nil {
			return err
		}
		now, err := ask("net-relay", 0)
		if err != nil {
			return err
		}
		got[n] = append(got[n], float64(now.Held-before.Held)/1024/float64(n))
	}
	return nil
}

func heldRow(name string, n int, got map[string]map[int][]float64, failed map[string]error) result.Row {
	const floor = 0.02 // how far two rounds of one relay are apart
	if err := failed[name]; err != nil {
		return result.Row{Tool: name, X: float64(n), Error: err.Error()}
	}
	row := stats.Row(name, got[name][n])
	row.X = float64(n)
	if base := got[peers.Egress][n]; name != peers.Egress && n > 1 {
		row.Ratio = stats.Compare(peers.Egress, got[name][n], base, floor, stats.Amount)
	}
	return row
}
