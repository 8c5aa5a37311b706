package measure

import (
	"context"
	"errors"
	"os"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

const (
	sampleFile = "/usr/bin/env" // is on every system, and in every jail's /usr
	python     = "/usr/bin/python3"
)

// insideOp is what a process in the jail is asked to do.
type insideOp struct {
	id, title, question, unit string
	ask                       load.Request // N: how often in a sample
	quick                     int          // N of a quick run
	per                       float64      // nanoseconds in a unit, for each of N
	note                      string
}

func insideCalls() []insideOp {
	call := func(id, title, question, arg string, n int, note string) insideOp {
		return insideOp{id: "inside-" + id, title: title, question: question, unit: "ns", per: 1,
			ask: load.Request{Op: id, Arg: arg, N: n}, quick: n / 20, note: note}
	}
	const bar = "bar: brig at most 1.20 of no jail"
	return []insideOp{
		call("getppid", "System call: getppid", "How long does the cheapest system call take in the jail?", "", 20000, bar),
		call("read", "System call: read", "How long does it take to read a byte of /dev/zero in the jail?", "/dev/zero", 20000, bar),
		call("stat", "System call: stat", "How long does it take to look up a file of /usr in the jail?", sampleFile, 10000, bar),
		call("open", "System calls: open and close", "How long does it take to open and close a file of /usr in the jail?", sampleFile, 8000, bar+"; the figure is of both calls"),
		call("socket", "System calls: socket and close", "How long does it take to make a Unix socket, whose family a filter looks at, in the jail?", "", 4000, bar+"; the figure is of both calls"),
		{id: "inside-cpu", title: "Computing", question: "How long does a loop of a million multiplications take in the jail?",
			unit: "µs", per: 1e3 / 1000, ask: load.Request{Op: "spin", N: 4000}, quick: 200},
		{id: "inside-python", title: "Starting Python", question: "How long does `python3 -I -c pass` take in a jail that runs already?",
			unit: "ms", per: 1e6, ask: load.Request{Op: "child", Arg: python + " -I -c pass", N: 1}, quick: 1},
	}
}

func insideFiles() []insideOp {
	return []insideOp{
		{id: "inside-files", title: "Small files on a bind", question: "How long does it take to write, read and remove a file of 4 KiB in a writable directory of the host's?",
			unit: "µs", per: 1e3, ask: load.Request{Op: "files", Arg: shared, N: 100}, quick: 20},
		{id: "inside-tmpfs", title: "Small files on a tmpfs", question: "How long does it take to write, read and remove a file of 4 KiB in the jail's /tmp?",
			unit: "µs", per: 1e3, ask: load.Request{Op: "files", Arg: "/tmp", N: 100}, quick: 20, note: "no jail: a directory of the host's /dev/shm"},
	}
}

// insideGroup is what processes in the same jails are asked. A quick run asks it all at the first table and keeps the
// others: some tools take longer to start a jail than to answer.
type insideGroup struct {
	ops      []insideOp
	writable bool // the jail has a writable directory of the host's
	done     map[string]result.Table
}

func inside() (all []Dimension) {
	for _, g := range []*insideGroup{{ops: insideCalls()}, {ops: insideFiles(), writable: true}} {
		for _, op := range g.ops {
			all = append(all, Dimension{op.id, op.title, func(ctx context.Context, e *Env) (result.Table, error) { return g.table(ctx, e, op) }})
		}
	}
	return all
}

func (g *insideGroup) table(ctx context.Context, e *Env, op insideOp) (_ result.Table, err error) {
	if t, ok := g.done[op.id]; ok {
		return t, nil
	}
	work, err := e.scratch()
	if err != nil {
		return result.Table{}, err
	}
	// a tool without a user namespace has a payload that is nobody in particular
	if err := os.Chmod(work, 0o777); err != nil {
		return result.Table{}, err
	}
	p := probes{env: e, work: work}
	defer func() { err = errors.Join(err, ignoreEnd(ctx, p.close())) }()
	asked, refused, err := p.open(ctx, g.writable)
	if err != nil {
		return result.Table{}, err
	}
	ops := []insideOp{op}
	if e.Quick {
		ops = g.ops
	}
	g.done = map[string]result.Table{}
	for _, o := range ops {
		if g.done[o.id], err = o.run(ctx, e, asked, refused); err != nil {
			return result.Table{}, err
		}
	}
	return g.done[op.id], nil
}

// run asks the processes in turn. Those that could not be started have their row, too.
func (op insideOp) run(ctx context.Context, e *Env, asked []*asked, refused []result.Row) (result.Table, error) {
	t := result.Table{ID: op.id, Title: op.title, Question: op.question, Unit: op.unit}
	rounds, n := e.Count(100, 8), op.ask.N
	if e.Quick {
		n = op.quick
	}
	if _, err := os.Stat(python); err != nil && op.ask.Op == "child" {
		t.Notes = []string{"left out: there is no " + python + " here"}
		return t, nil
	}
	t.Notes = []string{"a sample is the fastest of up to five times"}
	if op.note != "" {
		t.Notes = append(t.Notes, op.note)
	}
	var all []Contender
	for _, a := range asked {
		all = append(all, Contender{a.name, func(context.Context) (float64, error) {
			r, err := a.client.Ask(load.Request{Op: op.ask.Op, Arg: a.there(op.ask.Arg), N: n})
			if err != nil {
				return 0, err
			}
			return float64(r.Nanos[0]) / op.per / float64(n), nil
		}})
	}
	p := Plan{Rounds: rounds, Warm: 1, Words: stats.Time, Budget: e.budget(15, 1)}
	if len(all) > 0 { // no jail comes first
		p.Base = all[0].Name
	}
	s, err := Interleave(ctx, e, p, all)
	if err != nil {
		return t, err
	}
	t.Rows, t.Notes = append(s.Rows(), refused...), append(t.Notes, s.Notes()...)
	return t, nil
}
