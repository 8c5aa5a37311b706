package measure

import (
	"context"
	"errors"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// decades are the numbers of jails that run at once.
var decades = []int{1, 10, 100, 1000}

// point is what a keeper holds with so many jails running, and how long one more takes.
type point struct {
	usage  load.Usage
	starts []float64 // ms
}

// growthRun is one measurement behind several tables.
type growthRun struct {
	points []point
	err    error
	done   bool
}

func growth() []Dimension {
	g := &growthRun{}
	of := func(id, title, question, unit string, notes []string, rows func([]point) []result.Row) Dimension {
		return Dimension{id, title, func(ctx context.Context, e *Env) (result.Table, error) {
			t := result.Table{ID: id, Title: title, Question: question, Unit: unit, X: "running jails", Notes: notes}
			points, err := g.measure(ctx, e)
			t.Rows = rows(points)
			return t, err
		}}
	}
	return []Dimension{
		of("growth-memory", "Memory of the keeper", "How much does a process that keeps running jails grow with each?", "KiB per jail",
			[]string{"bar: resident set at most 12 KiB per jail",
				"after a collection, with what is free given back; each jail is awaited by a goroutine, whose stack is in the figure"}, memoryRows),
		of("growth-handles", "Descriptors and threads of the keeper", "How many descriptors, threads and goroutines does a process that keeps running jails hold?", "count",
			[]string{"bars: at most 2 descriptors per jail, and no more threads than with one jail but for a few per processor"}, handleRows),
		of("growth-start", "Start beside running jails", "How long does one more jail take, start to exit, while so many run?", "ms",
			[]string{"samples are taken one number after the other, and not interleaved: all jails share one kernel"}, startRows),
	}
}

// measure grows one Runner through the decades in a process of its own, once for all tables.
func (g *growthRun) measure(ctx context.Context, e *Env) (points []point, err error) {
	if g.done {
		return g.points, g.err
	}
	c, err := load.Self(ctx, load.Config{})
	if err != nil {
		return nil, err
	}
	defer func() {
		g.points, g.done = points, ctx.Err() == nil
		err = errors.Join(err, ignoreEnd(ctx, c.Close()))
		g.err = err
	}()
	for _, n := range decades {
		if e.Quick && n > 100 {
			break
		}
		e.say("growth: %d jails", n)
		r, err := c.Ask(load.Request{Op: "grow", N: n})
		if err != nil {
			return points, errors.Join(ctx.Err(), err)
		}
		more, err := c.Ask(load.Request{Op: "grown", N: e.Count(100, 30)})
		if err != nil {
			return points, errors.Join(ctx.Err(), err)
		}
		points = append(points, point{*r.Usage, scaled(more.Nanos, 1e6)})
	}
	return points, nil
}

// scaled divides nanoseconds by a number of them.
func scaled(nanos []int64, by float64) (list []float64) {
	for _, ns := range nanos {
		list = append(list, float64(ns)/by)
	}
	return list
}

// perJail is how much a figure has grown with each jail since the first point.
func perJail(points []point, i int, of func(load.Usage) int64) float64 {
	first, now := points[0].usage, points[i].usage
	return float64(of(now)-of(first)) / float64(now.Jails-first.Jails)
}

func memoryRows(points []point) (rows []result.Row) {
	for _, what := range []struct {
		name string
		of   func(load.Usage) int64
	}{
		{"brig Runner: resident set", func(u load.Usage) int64 { return u.RSS }},
		{"brig Runner: of it live heap", func(u load.Usage) int64 { return u.Heap }},
		{"brig Runner: of it stacks", func(u load.Usage) int64 { return u.Stacks }},
	} {
		for i := range points {
			if i > 0 {
				rows = append(rows, result.Row{Tool: what.name, X: float64(points[i].usage.Jails), N: 1, P50: perJail(points, i, what.of) / 1024})
			}
		}
	}
	return rows
}

func handleRows(points []point) (rows []result.Row) {
	for i, p := range points {
		x := float64(p.usage.Jails)
		rows = append(rows, result.Row{Tool: "brig Runner: threads", X: x, N: 1, P50: float64(p.usage.Threads)})
		if i > 0 {
			rows = append(rows,
				result.Row{Tool: "brig Runner: descriptors per jail", X: x, N: 1, P50: perJail(points, i, func(u load.Usage) int64 { return int64(u.FDs) })},
				result.Row{Tool: "brig Runner: goroutines per jail", X: x, N: 1, P50: perJail(points, i, func(u load.Usage) int64 { return int64(u.Goroutines) })})
		}
	}
	return rows
}

// startRows compares with the first number of jails, as far as its own first half is from its second.
func startRows(points []point) (rows []result.Row) {
	for i, p := range points {
		row := stats.Row("brig Runner", p.starts)
		row.X = float64(p.usage.Jails)
		if i > 0 {
			first := points[0].starts
			half := len(first) / 2
			row.Ratio = stats.Compare("itself at 1", p.starts, first, stats.Floor(first[:half], first[half:]), stats.Time)
		}
		rows = append(rows, row)
	}
	return rows
}
