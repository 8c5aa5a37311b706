package measure

import (
	"context"
	"errors"
	"math"
	"slices"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

const addedByNetwork = ", added by the network"

func netStart() Dimension {
	return Dimension{"net-start", "Start to exit with a network", runNetStart}
}

// runNetStart times the jail of each contender with its network and without it, in the same rounds.
func runNetStart(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: "net-start", Title: "Start to exit with a network", Unit: "ms",
		Question: "How long does a jail take that does nothing, with its way out ready and without one?"}
	c, left, err := e.arena(ctx)
	if c == nil {
		t.Notes = left
		return t, err
	}
	defer func() { err = errors.Join(err, ignoreEnd(ctx, c.Close())) }()
	var all []Contender
	without := map[string]string{}
	for _, r := range e.relays() {
		if r.Without == "" {
			continue
		}
		start := func(network int) func(context.Context) (float64, error) {
			return func(ctx context.Context) (float64, error) {
				reply, err := c.Ask(load.Request{In: r.Info.Name, Op: "net-start", N: network})
				if err != nil {
					return 0, errors.Join(ctx.Err(), err)
				}
				return float64(reply.Nanos[0]) / 1e6, nil
			}
		}
		if !slices.ContainsFunc(all, func(c Contender) bool { return c.Name == r.Without }) {
			all = append(all, Contender{r.Without, start(0)})
		}
		all = append(all, Contender{r.Info.Name, start(1)})
		without[r.Info.Name] = r.Without
	}
	s, err := Interleave(ctx, e, Plan{Rounds: e.Count(100, 15), Warm: 2, Base: BaseTool, Words: stats.Time, Budget: e.budget(60, 4)}, all)
	if err != nil {
		return t, err
	}
	t.Rows = startRowsOf(s, without)
	t.Notes = slices.Concat(e.netNotes(), []string{"bar: brig's egress adds at most 1.5 ms",
		peers.Isolated + ": the same namespaces, with lo down; slirp4netns and pasta join them, and the payload ends when the network is there",
		"from the start to the exit; what a relay takes to end afterwards does not count, but for brig's, which has ended"}, s.Notes())
	return t, nil
}

// startRowsOf compares each way out with the same jail without it, and adds the difference: the median of the rounds.
func startRowsOf(s *Series, without map[string]string) (rows []result.Row) {
	for _, row := range s.Rows() {
		base, ok := without[row.Tool]
		if !ok || row.Error != "" {
			rows = append(rows, row)
			continue
		}
		with, less := s.Samples(row.Tool), s.Samples(base)
		row.Ratio = stats.Compare(base, with, less, s.Floor(), stats.Time)
		added := stats.Row(row.Tool+addedByNetwork, minus(with, less))
		rows = append(rows, row, added)
	}
	return rows
}

// minus is the difference in each round, NaN where one is missing.
func minus(a, b []float64) (list []float64) {
	for i := range a {
		if i < len(b) {
			list = append(list, a[i]-b[i])
		} else {
			list = append(list, math.NaN())
		}
	}
	return list
}
