package measure

import (
	"context"
	"errors"
	"fmt"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/result"
)

// figure is one that grows with the running jails.
type figure struct {
	name    string
	perJail bool // its growth since the first jail, for each
	unit    float64
	of      func(load.Usage) int64
}

func growth() []Dimension {
	return []Dimension{
		{result.Table{ID: "growth-memory", Title: "Memory of the keeper", Unit: "KiB per jail", X: "running jails",
			Question: "How much does a process that keeps running jails grow with each?",
			Notes: []string{"bar: resident set at most 12 KiB per jail",
				"after a collection; each jail is awaited by a goroutine, whose stack is in the figure"}},
			grow([]figure{
				{"brig Runner: resident set", true, 1024, func(u load.Usage) int64 { return u.RSS }},
				{"brig Runner: of it live heap", true, 1024, func(u load.Usage) int64 { return u.Heap }},
				{"brig Runner: of it stacks", true, 1024, func(u load.Usage) int64 { return u.Stacks }},
			})},
		{result.Table{ID: "growth-handles", Title: "Descriptors and threads of the keeper", Unit: "count", X: "running jails",
			Question: "How many descriptors, threads and goroutines does a process that keeps running jails hold?",
			Notes: []string{
				"bars: at most 2 descriptors per jail, and no more threads than with one jail but for a few per processor"}},
			grow([]figure{
				{"brig Runner: threads", false, 1, func(u load.Usage) int64 { return u.Threads }},
				{"brig Runner: descriptors per jail", true, 1, func(u load.Usage) int64 { return u.FDs }},
				{"brig Runner: goroutines per jail", true, 1, func(u load.Usage) int64 { return u.Goroutines }},
			})},
	}
}

// grow grows one Runner in a process of its own, and reads the figures each time there are ten times as many jails.
func grow(figures []figure) func(context.Context, *Env, *result.Table) error {
	return func(ctx context.Context, e *Env, t *result.Table) (err error) {
		c, err := load.Self(ctx, load.Config{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		var usages []load.Usage
		for _, n := range []int{1, 10, 100, 1000} {
			if e.Quick && n > 100 {
				break
			}
			e.Progress(fmt.Sprintf("%d jails", n))
			r, err := c.Ask(load.Request{Op: "grow", N: n})
			if err != nil {
				return err
			}
			usages = append(usages, *r.Usage)
		}
		t.Rows = grown(figures, usages)
		return nil
	}
}

// grown returns the rows of the figures.
func grown(figures []figure, usages []load.Usage) (rows []result.Row) {
	first := usages[0]
	for _, f := range figures {
		for _, u := range usages {
			v := float64(f.of(u)) / f.unit
			if f.perJail {
				if u.Jails == first.Jails {
					continue
				}
				v = float64(f.of(u)-f.of(first)) / f.unit / float64(u.Jails-first.Jails)
			}
			rows = append(rows, result.Row{Tool: f.name, X: float64(u.Jails), N: 1, P50: v})
		}
	}
	return rows
}
