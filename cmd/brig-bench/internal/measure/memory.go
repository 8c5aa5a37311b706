package measure

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// waiting is a payload that says that it runs and then reads to the end of its standard input.
var waiting = []string{"/bin/sh", "-c", "echo; read x; exit 0"}

// held is what running jails hold, in KiB per jail.
type held struct {
	processes float64 // proportional shares of the tool's processes and the jail's
	kernel    float64
	took      time.Duration
	hidden    bool // the processes are not the harness's children, and nobody knows them
	guessed   bool // a share was not to be had
}

// memoryRun is one measurement behind several tables.
type memoryRun struct {
	tools  []string
	counts []int
	all    map[string]map[int][]held
	failed map[string]map[int]error
}

// fewJails are the fewest whose kernel memory stands out from what the machine does besides.
const fewJails = 20

func memory() []Dimension {
	m := &memoryRun{}
	of := func(id, title, question string, least int, processes bool, notes []string, pick func(held) float64) Dimension {
		return Dimension{id, title, func(ctx context.Context, e *Env) (result.Table, error) {
			t := result.Table{ID: id, Title: title, Question: question, Unit: "KiB per jail", X: "running jails", Notes: notes}
			if err := m.measure(ctx, e); err != nil {
				return t, err
			}
			m.rows(&t, least, processes, pick)
			return t, nil
		}}
	}
	return []Dimension{
		of("memory", "Memory of a running jail", "How much memory does each running jail take, its processes, the tool's and the kernel's?", fewJails, true,
			[]string{"the sum of the next two tables; the payload is a shell that waits",
				"MemAvailable is no measure: what was freed just before waits in lists for each processor that it does not count"}, func(h held) float64 { return h.processes + h.kernel }),
		of("memory-processes", "Memory of a jail's processes", "How much do a jail's processes and the tool's own hold?", 1, true,
			[]string{"proportional set sizes: a page of n processes counts as an nth for each; a library's caller and its launcher are not among them"},
			func(h held) float64 { return h.processes }),
		of("memory-kernel", "Kernel memory of a jail", "How much does the kernel hold for each running jail?", fewJails, false,
			[]string{"unreclaimable slab, kernel stacks, page tables, per-processor memory"}, func(h held) float64 { return h.kernel }),
	}
}

// measure starts n jails of each tool, looks, and ends them, in several rounds, once for all tables.
func (m *memoryRun) measure(ctx context.Context, e *Env) error {
	if m.all != nil {
		return nil
	}
	m.tools, m.counts, m.failed = nil, []int{1, 50, 200}, map[string]map[int]error{}
	if e.Quick {
		m.counts = []int{1, fewJails}
	}
	all := map[string]map[int][]held{}
	for _, t := range e.Tools {
		m.tools = append(m.tools, t.Info.Name)
		all[t.Info.Name], m.failed[t.Info.Name] = map[int][]held{}, map[int]error{}
	}
	for _, n := range m.counts {
		for i := range e.Count(5, 1) {
			for k := range e.Tools {
				t := e.Tools[(k+i)%len(e.Tools)] // each goes first equally often
				if err := m.once(ctx, e, t, n, i, all[t.Info.Name]); err != nil {
					return err
				}
			}
		}
	}
	m.all = all
	return nil
}

// once takes a sample, unless the tool has failed with so many or is too slow to start so many this often.
func (m *memoryRun) once(ctx context.Context, e *Env, t *peers.Tool, n, round int, got map[int][]held) error {
	patience, once := 15*time.Second, 4*time.Second
	if e.Quick {
		patience = time.Second
	}
	patience = cmp.Or(e.Patience, patience)
	failed := m.failed[t.Info.Name]
	if first := got[1]; n > 1 && len(first) > 0 {
		switch took := first[0].took * time.Duration(n); {
		case took > patience:
			failed[n] = fmt.Errorf("left out: %d jails would take %v to start", n, took.Round(time.Second))
		case took > once && round > 0:
			return nil
		}
	}
	if failed[n] != nil {
		return nil
	}
	e.say("%d jails of %s", n, t.Info.Name)
	h, err := hold(ctx, t, n)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed[n] = err; err == nil {
		got[n] = append(got[n], h)
	}
	return nil
}

func (m *memoryRun) rows(t *result.Table, least int, processes bool, pick func(held) float64) {
	const (
		floor        = 0.02 // how far two rounds of one tool are apart
		enoughRounds = 5    // an interval of fewer is none
	)
	for _, name := range m.tools {
		guessed := false
		for _, n := range m.counts {
			if n < least {
				continue
			}
			got := m.all[name][n]
			row := result.Row{Tool: name, X: float64(n)}
			switch {
			case len(got) == 0:
				row.Error = m.failed[name][n].Error()
			case processes && got[0].hidden:
				row.Error = "its processes are not the benchmark's children"
			default:
				samples := picked(got, pick)
				row = stats.Row(name, samples)
				row.X = float64(n)
				if name != BaseTool && len(samples) >= enoughRounds {
					row.Ratio = stats.Compare(BaseTool, samples, picked(m.all[BaseTool][n], pick), floor, stats.Amount)
				}
				guessed = guessed || got[0].guessed
			}
			t.Rows = append(t.Rows, row)
		}
		if processes && guessed {
			t.Notes = append(t.Notes, name+": a process that hides its memory from an ordinary user counts with its private part, where the kernel tells that")
		}
	}
}

func picked(list []held, pick func(held) float64) (samples []float64) {
	for _, h := range list {
		samples = append(samples, pick(h))
	}
	return samples
}
