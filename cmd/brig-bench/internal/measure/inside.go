package measure

import (
	"context"
	"errors"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// inside are the system calls that a process in the jail makes.
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
		if e.Quick && r.slow {
			continue
		}
		c, cerr := load.Within(ctx, r.Ready)
		if cerr != nil {
			t.Rows = append(t.Rows, result.Row{Tool: r.name, Error: cerr.Error()})
			continue
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		all = append(all, Contender{r.name, func(context.Context) (float64, error) {
			reply, err := c.Ask(ask)
			if err != nil {
				return 0, err
			}
			return float64(reply.Nanos[0]) / float64(ask.N), nil
		}})
	}
	s, err := Interleave(ctx, e, p, all)
	if err != nil {
		return err
	}
	t.Rows, t.Notes = append(s.Rows(), t.Rows...), append(t.Notes, s.Notes()...)
	return nil
}
