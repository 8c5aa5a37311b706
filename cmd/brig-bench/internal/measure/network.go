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
)

// netOp is what a process in a jail is asked to do with the server outside.
type netOp struct {
	result.Table
	n, quick int // bytes of a transfer, or connections
}

// relayed is how much a transfer is: long enough that the beginning of a connection does not count.
const relayed, relayedQuick = 256 << 20, 128 << 20

func netOps() []netOp {
	const (
		paces  = "bars: brig at least 0.50 of direct loopback, and at least 1.5 of slirp4netns"
		median = "a sample is the median of some hundred connections, one after the other"
	)
	return []netOp{
		{result.Table{ID: "net-down", Title: "Download through the jail's network", Unit: "MiB/s", Higher: true,
			Question: "How fast do bytes arrive in the jail that a server outside sends?",
			Notes:    []string{paces, "by the client's clock, from the connect to the last byte"}},
			relayed, relayedQuick},
		{result.Table{ID: "net-up", Title: "Upload through the jail's network", Unit: "MiB/s", Higher: true,
			Question: "How fast does a server outside take what the jail sends?",
			Notes:    []string{paces, "by the client's clock, from the connect to the server's answer that it has all"}},
			relayed, relayedQuick},
		{result.Table{ID: "net-dial", Title: "System call: connect, to a server outside", Unit: "µs",
			Question: "How long does connect(2) take in the jail, to a server outside?",
			Notes: []string{"bar: brig at most 1.5 of direct loopback", median,
				"a relay answers before it has reached the server"}}, 500, 100},
	}
}

func network() (all []Dimension) {
	for _, op := range netOps() {
		all = append(all, Dimension{op.Table, op.run, true})
	}
	return append(all,
		Dimension{result.Table{ID: "net-start", Title: "Start to exit with a network", Unit: "ms",
			Question: "How long does a jail take that does nothing, with its network ready and without one?",
			Notes: []string{"bar: brig's egress adds at most 1.5 ms", peers.Isolated +
				": the same namespaces; slirp4netns joins them, and the payload ends when the network is ready"}},
			runNetStart, true},
		Dimension{result.Table{ID: "net-memory", Title: "Memory of a connection", Unit: "KiB per connection",
			X: "open connections", Question: "How much do the processes that relay grow with each open connection?",
			Notes: []string{"bar: brig at most 32 KiB with 1,000",
				"proportional set size, less that of the same process without a connection; of brig it is the keeper's, " +
					"which every jail has", "what the kernel holds for sockets does not count"}}, runNetMemory, true})
}

// against reports whether brig's relay is compared with this one, which is another tool's.
func against(r *peers.Tool) bool { return r.Without != nil && r.Info.Name != peers.Egress }

// value returns the figure of a reply: MiB a second for a transfer of n bytes, or the median in microseconds.
func (op netOp) value(nanos []int64, n int) float64 {
	if op.Higher {
		return float64(n) / (1 << 20) / (float64(nanos[0]) / 1e9)
	}
	var micros []float64
	for _, ns := range nanos {
		micros = append(micros, float64(ns)/1e3)
	}
	return stats.Quantile(micros, 0.5)
}

// run asks the jails in turn, each through its own relay.
func (op netOp) run(ctx context.Context, e *Env, t *result.Table) (err error) {
	n := op.n
	if e.Quick {
		n = op.quick
	}
	job, err := load.Request{Op: op.ID, N: n, Arg: peers.Server}.Job()
	if err != nil {
		return err
	}
	readies, closeAll := e.prepare(ctx, e.Relays, t, job)
	defer func() { err = errors.Join(err, closeAll()) }()
	var all []contender
	for _, r := range readies {
		all = append(all, asked(r, func(nanos []int64) float64 { return op.value(nanos, n) }))
	}
	p := plan{Rounds: e.count(30, 8), Base: peers.Direct, Budget: e.budget(30, 3)}
	s, err := e.compare(ctx, t, p, all)
	if err != nil {
		return err
	}
	for _, r := range e.Relays { // brig against the other relays, too
		to, egress := r.Info.Name, peers.Egress
		q := stats.Compare(to, s.samples(egress), s.samples(to), s.floor(), words(t))
		if against(r) && q != nil {
			note := fmt.Sprintf("%s: %.2f of %s (%.2f to %.2f): %s", egress, q.Median, to, q.Low, q.High, q.Verdict)
			t.Notes = append(t.Notes, note)
		}
	}
	return nil
}

// runNetStart times the jail of each contender with its network and without it, in the same rounds, and adds the
// difference: the median of the rounds. The payload waits until its network is ready.
func runNetStart(ctx context.Context, e *Env, t *result.Table) (err error) {
	var tools []*peers.Tool
	without := map[string]string{}
	for _, r := range e.Relays {
		if r.Without != nil {
			tools = append(tools, r.Without, r)
			without[r.Info.Name] = r.Without.Info.Name
		}
	}
	readies, closeAll := e.prepare(ctx, tools, t, peers.Job{Args: []string{"/bin/cat"}})
	defer func() { err = errors.Join(err, closeAll()) }()
	var all []contender
	for _, r := range readies {
		all = append(all, contender{r.Tool.Info.Name, func(context.Context) (float64, error) {
			took, err := r.Time(nil)
			return float64(took.Nanoseconds()) / 1e6, err
		}})
	}
	p := plan{Rounds: e.count(100, 15), Base: baseTool, Budget: e.budget(60, 4)}
	s, err := interleave(ctx, e, p, all)
	if err == nil {
		t.Rows, t.Notes = added(s, without), append(t.Notes, s.notes()...)
	}
	return err
}

// added compares each network with the same jail without it, and has a row for the difference.
func added(s *series, without map[string]string) (rows []result.Row) {
	for _, row := range s.rows(stats.Time) {
		base, ok := without[row.Tool]
		if !ok || row.Error != "" {
			rows = append(rows, row)
			continue
		}
		with, less := s.samples(row.Tool), s.samples(base)
		row.Ratio = stats.Compare(base, with, less, s.floor(), stats.Time)
		var differences []float64
		for i := range min(len(with), len(less)) {
			differences = append(differences, with[i]-less[i])
		}
		rows = append(rows, row, stats.Row(row.Tool+", added by the network", differences))
	}
	return rows
}

// runNetMemory opens connections through fresh relays, and measures the memory of the relays' processes.
func runNetMemory(ctx context.Context, e *Env, t *result.Table) (err error) {
	const floor = 0.02 // how far two rounds of one relay are apart
	for _, n := range []int{1, 1000} {
		job, err := load.Request{Op: "net-hold", N: n, Arg: peers.Server}.Job()
		if err != nil {
			return err
		}
		relays := slices.DeleteFunc(slices.Clone(e.Relays), func(r *peers.Tool) bool { return r.Without == nil })
		readies, closeAll := e.prepare(ctx, relays, t, job)
		got, failed := map[string][]float64{}, map[string]error{}
		for range e.count(8, 2) {
			for _, r := range readies {
				if name := r.Tool.Info.Name; failed[name] == nil && ctx.Err() == nil {
					grown, err := load.Hold(ctx, r)
					got[name], failed[name] = append(got[name], float64(grown)/1024/float64(n)), err
				}
			}
		}
		for _, r := range readies {
			row := stats.Row(r.Tool.Info.Name, got[r.Tool.Info.Name])
			if err := failed[row.Tool]; err != nil {
				row = result.Row{Tool: row.Tool, Error: err.Error()}
			} else if against(r.Tool) && n > 1 {
				row.Ratio = stats.Compare(peers.Egress, got[row.Tool], got[peers.Egress], floor, stats.Amount)
			}
			row.X = float64(n)
			t.Rows = append(t.Rows, row)
		}
		if err := closeAll(); err != nil {
			return err
		}
	}
	return ctx.Err()
}
