package measure

import (
	"context"
	"errors"
	"time"

	"brig/cmd/brig-bench/internal/boxes"
	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// The sizes of an answer by which a port is measured.
const (
	small = 1
	large = 64 << 20
)

// living returns the measurements of boxes that live.
func living() []Dimension {
	ms := func(id, title, question string, notes ...string) result.Table {
		return result.Table{ID: id, Title: title, Question: question, Unit: "ms", Notes: notes}
	}
	return []Dimension{
		{Table: ms("box", "A command in a living box",
			"How long does /bin/true take in a living box, from start to exit?",
			"bar: at most 1.30 of no jail in this process, and 2 ms by HTTP"), run: runBox(command)},
		{Table: ms("box-new", "A new box and its first command",
			"How long does it take to make a box and run /bin/true in it?",
			"bar: at most 5 ms by HTTP", "a sample ends before the box is removed"), run: runBox(fresh)},
		{Table: ms("box-thaw", "A box that slept", "How long do freezing a box, thawing it and /bin/true in it take?",
			"bar: at most 3 ms"), run: runBox(thawed)},
		{Table: ms("box-port", "A request to a server in a box",
			"How long does an HTTP request take, whose answer is a byte?",
			"bar: a port adds at most 0.2 ms", "on a connection that is open"), run: runPort(small)},
		{Table: result.Table{ID: "box-bytes", Title: "Bytes of a server in a box", Unit: "MiB/s", Higher: true,
			Question: "How fast do 64 MiB arrive from a server in a box?",
			Notes:    []string{"bar: at least 0.80 of direct loopback"}}, run: runPort(large)},
		{Table: result.Table{ID: "box-memory", Title: "Memory of an idle box", Unit: "KiB per box", X: "boxes",
			Question: "How much less memory does the machine have available with each further box?",
			Notes:    []string{"bar: at most 1,024", "MemAvailable of proc_meminfo(5): it holds the kernel's part, too"}},
			run: runMemory},
	}
}

// with calls measure with the makers of boxes, and closes them. Without a brigd a note tells how to have one.
func with(e *Env, t *result.Table, measure func([]*boxes.Maker) error) (err error) {
	dir, err := e.scratch()
	if err != nil {
		return err
	}
	program, err := load.BrigdBeside(e.Brig)
	if err != nil {
		t.Notes = append(t.Notes, "brigd is left out: "+err.Error())
	}
	makers, err := boxes.Makers(program, dir)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range makers {
			err = errors.Join(err, m.Close())
		}
	}()
	return measure(makers)
}

// use is one sample of a Maker's: keep is a box that lives through the table.
type use func(m *boxes.Maker, keep *boxes.Box) (time.Duration, error)

func command(_ *boxes.Maker, keep *boxes.Box) (time.Duration, error) {
	start := time.Now()
	err := keep.Exec("/bin/true")
	return time.Since(start), err
}

func fresh(m *boxes.Maker, _ *boxes.Box) (time.Duration, error) {
	start := time.Now()
	b, err := m.New()
	if err != nil {
		return 0, err
	}
	err = b.Exec("/bin/true")
	return time.Since(start), errors.Join(err, b.Close())
}

func thawed(_ *boxes.Maker, keep *boxes.Box) (time.Duration, error) {
	start := time.Now()
	err := keep.Freeze()
	if err == nil {
		err = keep.Thaw()
	}
	if err == nil {
		err = keep.Exec("/bin/true")
	}
	return time.Since(start), err
}

// runBox times a use of each maker's boxes in turn, and a process without a jail.
func runBox(of use) func(context.Context, *Env, *result.Table) error {
	return func(ctx context.Context, e *Env, t *result.Table) error {
		return with(e, t, func(makers []*boxes.Maker) (err error) {
			var all []contender
			for _, tool := range e.Tools {
				if tool.Info.Name != peers.Bare {
					continue
				}
				r, err := tool.Prepare(peers.Job{Args: []string{"/bin/true"}})
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, r.Close()) }()
				all = append(all, contender{peers.Bare, func(context.Context) (float64, error) {
					start := time.Now()
					err := r.Run()
					return millis(time.Since(start)), err
				}})
			}
			for _, m := range makers {
				keep, err := m.New()
				if err != nil {
					t.Rows = append(t.Rows, result.Row{Tool: m.Name, Error: err.Error()})
					continue
				}
				defer func() { err = errors.Join(err, keep.Close()) }()
				all = append(all, contender{m.Name, func(context.Context) (float64, error) {
					took, err := of(m, keep)
					return millis(took), err
				}})
			}
			p := plan{Rounds: e.count(300, 20), Budget: e.budget(20, 2), Base: peers.Bare}
			_, err = e.compare(ctx, t, p, all)
			return err
		})
	}
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// runPort asks the server in a box of each maker, and one without a jail, for answers of so many bytes.
func runPort(bytes int64) func(context.Context, *Env, *result.Table) error {
	return func(ctx context.Context, e *Env, t *result.Table) error {
		return with(e, t, func(makers []*boxes.Maker) (err error) {
			direct, err := boxes.Direct(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, direct.Close()) }()
			all := []contender{answers(peers.Direct, direct, bytes)}
			for _, m := range makers {
				b, err := m.New()
				if err != nil {
					t.Rows = append(t.Rows, result.Row{Tool: m.Name, Error: err.Error()})
					continue
				}
				defer func() { err = errors.Join(err, b.Close()) }()
				s, err := b.Serve()
				if err != nil {
					t.Rows = append(t.Rows, result.Row{Tool: m.Name, Error: err.Error()})
					continue
				}
				defer func() { err = errors.Join(err, s.Close()) }()
				all = append(all, answers(m.Name, s, bytes))
			}
			p := plan{Rounds: e.count(300, 20), Budget: e.budget(20, 2), Base: peers.Direct}
			_, err = e.compare(ctx, t, p, all)
			return err
		})
	}
}

// answers returns the contender whose sample is an answer of a server: its time, or MiB a second of a large one.
func answers(name string, s *boxes.Server, bytes int64) contender {
	return contender{name, func(context.Context) (float64, error) {
		start := time.Now()
		err := s.Get(bytes)
		took := time.Since(start)
		if bytes == small {
			return millis(took), err
		}
		return float64(bytes) / (1 << 20) / took.Seconds(), err
	}}
}
