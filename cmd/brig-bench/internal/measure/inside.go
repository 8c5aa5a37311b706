package measure

import (
	"context"
	"errors"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
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
		ask := load.Request{Op: op.name, N: op.n, Arg: op.arg}
		t := result.Table{ID: "inside-" + op.name, Title: op.title, Question: op.question, Unit: "ns", Notes: []string{bar}}
		all = append(all, Dimension{Table: t, run: func(ctx context.Context, e *Env, t *result.Table) error {
			return askInside(ctx, e, t, ask)
		}})
	}
	return all
}

// askInside has a process in a fresh jail of each tool measure in turn.
func askInside(ctx context.Context, e *Env, t *result.Table, ask load.Request) (err error) {
	if e.Quick {
		ask.N /= 20
	}
	job, err := ask.Job()
	if err != nil {
		return err
	}
	readies, closeAll := e.prepare(ctx, e.Tools, t, job)
	defer func() { err = errors.Join(err, closeAll()) }()
	var all []contender
	for _, r := range readies {
		if !e.Quick || !r.Tool.Slow {
			all = append(all, asked(r, func(nanos []int64) float64 { return float64(nanos[0]) / float64(ask.N) }))
		}
	}
	p := plan{Rounds: e.count(100, 8), Budget: e.budget(15, 1), Base: peers.Bare}
	_, err = e.compare(ctx, t, p, all)
	return err
}
