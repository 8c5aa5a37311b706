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

	"golang.org/x/sys/unix"
)

// workers returns the measurements of starts from processes that differ in one thing.
func workers() []Dimension {
	return []Dimension{
		{result.Table{ID: "mounts", Title: "Start under a large mount table", Unit: "ms", X: "extra mounts",
			Question: "How long does a jail take when the caller's mount table has many other mounts?",
			Notes: []string{"bars: at 1000 mounts, brig run at most 2.0 of itself at 0, a Runner with a pool at most 1.1",
				"the mounts are in mount namespaces of the benchmark's own processes, not in the host's"}}, runMounts},
		{result.Table{ID: "heap", Title: "Start under a large heap", Unit: "ms", X: "MiB of live heap",
			Question: "How long does a jail take when the process that starts it has a large heap?",
			Notes:    []string{"bar: brig Runner at most 1.3 of itself under an empty heap"}}, runHeap},
	}
}

func runMounts(ctx context.Context, e *Env, t *result.Table) error {
	counts := []int{0, 100, 1000}
	if e.Quick {
		counts = []int{0, 1000}
	}
	names := e.present(func(tool *peers.Tool) bool { return !tool.Daemon && !tool.Box && !(e.Quick && tool.Slow) })
	plan := Plan{Rounds: e.count(60, 10), Warm: 2, Budget: e.budget(60, 3)}
	// without extra mounts there is one all the same, so that the workers differ in nothing else
	return acrossWorkers(ctx, e, t, names, counts, plan, func(n int) load.Config { return load.Config{Mounts: max(1, n)} })
}

func runHeap(ctx context.Context, e *Env, t *result.Table) error {
	sizes := []int{0, 256, 1024, 4096}
	if e.Quick {
		sizes = []int{0, 1024}
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return err
	}
	free := int(int64(info.Freeram+info.Bufferram) * int64(info.Unit) >> 20)
	for i, mib := range sizes { // all live at once
		if mib > free/2 {
			t.Notes = append(t.Notes, fmt.Sprintf("left out: %d MiB is too much where %d MiB are free", mib, free))
			sizes = sizes[:i]
			break
		}
	}
	names := e.present(func(tool *peers.Tool) bool {
		return slices.Contains([]string{peers.Bare, "brig Runner", "brig Runner, pool"}, tool.Info.Name)
	})
	plan := Plan{Rounds: e.count(60, 15), Warm: 2, Budget: e.budget(40, 2)}
	return acrossWorkers(ctx, e, t, append(names, load.Namespaces), sizes, plan,
		func(mib int) load.Config { return load.Config{Heap: int64(mib) << 20} })
}

// present returns the names of tools.
func (e *Env) present(fits func(*peers.Tool) bool) (names []string) {
	for _, t := range e.Tools {
		if fits(t) {
			names = append(names, t.Info.Name)
		}
	}
	return names
}

// acrossWorkers times tools in workers that differ in xs, and compares each tool with itself at the first x in the same
// rounds.
func acrossWorkers(ctx context.Context, e *Env, t *result.Table, names []string, xs []int, p Plan,
	config func(x int) load.Config) (err error) {
	var all []Contender
	for _, x := range xs {
		e.Progress(fmt.Sprintf("%s %d: starting", t.X, x))
		cfg := config(x)
		if cfg.Scratch, err = e.scratch(); err != nil {
			return err
		}
		cfg.Brig = e.Brig
		c, err := load.Self(ctx, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		for _, name := range names {
			_, _ = c.Ask(load.Request{Op: "run", Arg: name}) // prepares; an error comes again with the first sample
			all = append(all, asked(at(name, x), c, load.Request{Op: "run", Arg: name, N: 1}, millis))
		}
	}
	p.Base, p.Words = at(names[0], xs[0]), stats.Time
	s, err := Interleave(ctx, e, p, all)
	if err != nil {
		return err
	}
	rows := s.Rows()
	for i, name := range names {
		for k, x := range xs {
			row := rows[k*len(names)+i]
			row.Tool, row.X, row.Ratio = name, float64(x), nil
			if k > 0 && row.Error == "" {
				first, now := s.Samples(at(name, xs[0])), s.Samples(at(name, x))
				row.Ratio = stats.Compare(fmt.Sprintf("itself at %d", xs[0]), now, first, s.Floor(), p.Words)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = append(t.Notes, s.Notes()...)
	return nil
}

// at returns a contender's name where a tool takes part several times.
func at(name string, x int) string { return fmt.Sprintf("%s at %d", name, x) }
