package measure

import (
	"context"
	"errors"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// inside returns the measurements of system calls that a process in the jail makes.
func inside() (all []Dimension) {
	const (
		file = "/usr/bin/env" // is on every system, and in every jail's /usr
		bar  = "bar: brig at most 1.20 of no jail; a sample is the fastest of up to five times"
	)
	for _, op := range []struct {
		name, title, question, arg string
		n                          int
	}{
		{"getppid", "System call: getppid", "How long does the cheapest system call take in the jail?", "", 20000},
		{"read", "System call: read", "How long does it take to read a byte of /dev/zero in the jail?", "/dev/zero", 20000},
		{"open", "System calls: open and close", "How long does it take to open a file of /usr in the jail?", file, 8000},
		{"socket", "System calls: socket and close",
			"How long does it take to make a Unix socket, whose family a filter looks at, in the jail?", "", 4000},
	} {
		ask := load.Request{Op: op.name, Arg: op.arg, N: op.n}
		t := result.Table{ID: "inside-" + op.name, Title: op.title, Question: op.question, Unit: "ns", Notes: []string{bar}}
		all = append(all, Dimension{t, func(ctx context.Context, e *Env, t *result.Table) error {
			return askInside(ctx, e, t, ask)
		}})
	}
	return all
}

// askInside asks a process in each tool's jail in turn. Those that could not be started have their row, too.
func askInside(ctx context.Context, e *Env, t *result.Table, ask load.Request) (err error) {
	if e.Quick {
		ask.N /= 20
	}
	job, err := load.Job()
	if err != nil {
		return err
	}
	readies, closeAll := e.prepare(t, job)
	defer func() { err = errors.Join(err, closeAll()) }()
	p := Plan{Rounds: e.count(100, 8), Warm: 1, Words: stats.Time, Budget: e.budget(15, 1), Base: peers.Bare}
	var all []Contender
	for _, r := range readies {
		if e.Quick && r.Tool.Slow {
			continue
		}
		c, cerr := load.Within(ctx, r)
		if cerr != nil {
			t.Rows = append(t.Rows, result.Row{Tool: r.Tool.Info.Name, Error: cerr.Error()})
			continue
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		each := func(nanos []int64) float64 { return float64(nanos[0]) / float64(ask.N) }
		all = append(all, asked(r.Tool.Info.Name, c.Client, ask, each))
	}
	_, err = e.compare(ctx, t, p, all)
	return err
}
