package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// netOp is what a process in a jail is asked to do with the server outside.
type netOp struct {
	result.Table
	words    stats.Words
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
			stats.Rate, relayed, relayedQuick},
		{result.Table{ID: "net-up", Title: "Upload through the jail's network", Unit: "MiB/s", Higher: true,
			Question: "How fast does a server outside take what the jail sends?",
			Notes:    []string{paces, "by the client's clock, from the connect to the server's answer that it has all"}},
			stats.Rate, relayed, relayedQuick},
		{result.Table{ID: "net-dial", Title: "System call: connect, to a server outside", Unit: "µs",
			Question: "How long does connect(2) take in the jail, to a server outside?",
			Notes: []string{"bar: brig at most 1.5 of direct loopback", median,
				"a relay answers before it has reached the server, which net-connect waits for"}}, stats.Time, 500, 100},
		{result.Table{ID: "net-connect", Title: "Connections through the jail's network", Unit: "µs",
			Question: "How long does a connection take, with a byte there, one back and the close?",
			Notes:    []string{median}}, stats.Time, 500, 100},
	}
}

func network() (all []Dimension) {
	for _, op := range netOps() {
		all = append(all, Dimension{op.Table, op.run})
	}
	return append(all,
		Dimension{result.Table{ID: "net-start", Title: "Start to exit with a network", Unit: "ms",
			Question: "How long does a jail take that does nothing, with its network ready and without one?",
			Notes: []string{"bar: brig's egress adds at most 1.5 ms", peers.Isolated +
				": the same namespaces; slirp4netns joins them, and the payload ends when the network is ready"}}, runNetStart},
		Dimension{result.Table{ID: "net-memory", Title: "Memory of a connection", Unit: "KiB per connection",
			X: "open connections", Question: "How much do the processes that relay grow with each open connection?",
			Notes: []string{"bar: brig at most 32 KiB with 1,000",
				"proportional set size, less that of the same process without a connection; of brig it is the keeper's, " +
					"which every jail has", "what the kernel holds for sockets does not count"}}, runNetMemory})
}

// against reports whether a relay is another tool's, with which brig's is compared.
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

// run asks the jails in turn, each through its own relay. The first request to a jail, which is not counted, starts it.
func (op netOp) run(ctx context.Context, e *Env, t *result.Table) error {
	return e.inArena(ctx, t, func(c *load.Client, relays []*peers.Tool) error {
		n := op.n
		if e.Quick {
			n = op.quick
		}
		var all []Contender
		for _, r := range relays {
			ask := load.Request{In: r.Info.Name, Op: op.ID, Arg: peers.Server, N: n}
			all = append(all, asked(ask.In, c, ask, func(nanos []int64) float64 { return op.value(nanos, n) }))
		}
		p := Plan{Rounds: e.count(30, 8), Warm: 1, Base: peers.Direct, Words: op.words, Budget: e.budget(30, 3)}
		s, err := e.compare(ctx, t, p, all)
		if err != nil {
			return err
		}
		for _, r := range relays { // brig against the other relays, too
			to, egress := r.Info.Name, peers.Egress
			q := stats.Compare(to, s.Samples(egress), s.Samples(to), s.Floor(), op.words)
			if against(r) && q != nil {
				note := fmt.Sprintf("%s: %.2f of %s (%.2f to %.2f): %s", egress, q.Median, to, q.Low, q.High, q.Verdict)
				t.Notes = append(t.Notes, note)
			}
		}
		return nil
	})
}

// runNetStart times the jail of each contender with its network and without it, in the same rounds, and adds the
// difference: the median of the rounds.
func runNetStart(ctx context.Context, e *Env, t *result.Table) error {
	return e.inArena(ctx, t, func(c *load.Client, relays []*peers.Tool) error {
		var all []Contender
		without := map[string]string{}
		for _, r := range relays {
			if r.Without == nil {
				continue
			}
			without[r.Info.Name] = r.Without.Info.Name
			for _, name := range []string{r.Without.Info.Name, r.Info.Name} {
				all = append(all, asked(name, c, load.Request{Op: "run", Arg: name, N: 1}, millis))
			}
		}
		p := Plan{Rounds: e.count(100, 15), Warm: 2, Base: BaseTool, Words: stats.Time, Budget: e.budget(60, 4)}
		s, err := Interleave(ctx, e, p, all)
		if err != nil {
			return err
		}
		t.Rows, t.Notes = added(s, without), append(t.Notes, s.Notes()...)
		return nil
	})
}

// added compares each network with the same jail without it, and has a row for the difference.
func added(s *Series, without map[string]string) (rows []result.Row) {
	for _, row := range s.Rows() {
		base, ok := without[row.Tool]
		if !ok || row.Error != "" {
			rows = append(rows, row)
			continue
		}
		with, less := s.Samples(row.Tool), s.Samples(base)
		row.Ratio = stats.Compare(base, with, less, s.Floor(), stats.Time)
		var differences []float64
		for i := range min(len(with), len(less)) {
			differences = append(differences, with[i]-less[i])
		}
		rows = append(rows, row, stats.Row(row.Tool+", added by the network", differences))
	}
	return rows
}

// runNetMemory opens connections through a fresh relay, and looks at its process.
func runNetMemory(ctx context.Context, e *Env, t *result.Table) error {
	const floor = 0.02 // how far two rounds of one relay are apart
	counts := []int{1, 1000}
	return e.inArena(ctx, t, func(c *load.Client, relays []*peers.Tool) error {
		got, failed := map[string][]float64{}, map[string]error{}
		for range e.count(8, 2) {
			for _, r := range relays {
				if name := r.Info.Name; r.Without != nil && failed[name] == nil && ctx.Err() == nil {
					e.Progress(name)
					failed[name] = perConnection(c, name, counts, got)
				}
			}
		}
		for _, r := range relays {
			for _, n := range counts {
				row := stats.Row(r.Info.Name, got[at(r.Info.Name, n)])
				if err := failed[r.Info.Name]; err != nil {
					row = result.Row{Tool: r.Info.Name, Error: err.Error()}
				} else if base := got[at(peers.Egress, n)]; against(r) && n > 1 {
					row.Ratio = stats.Compare(peers.Egress, got[at(r.Info.Name, n)], base, floor, stats.Amount)
				}
				if row.X = float64(n); r.Without != nil {
					t.Rows = append(t.Rows, row)
				}
			}
		}
		return ctx.Err()
	})
}

// perConnection adds a sample for each number of connections, in KiB for each connection.
func perConnection(c *load.Client, name string, counts []int, got map[string][]float64) (err error) {
	ask := func(op string, n int) (load.Reply, error) {
		return c.Ask(load.Request{In: name, Op: op, Arg: peers.Server, N: n})
	}
	defer func() {
		_, eerr := ask("net-end", 0)
		err = errors.Join(err, eerr)
	}()
	before, err := ask("net-relay", 0)
	for _, n := range counts {
		if err == nil {
			_, err = ask("net-hold", n)
		}
		if err != nil {
			return err
		}
		var now load.Reply
		now, err = ask("net-relay", 0)
		got[at(name, n)] = append(got[at(name, n)], float64(now.Held-before.Held)/1024/float64(n))
	}
	return err
}

// inArena starts the namespace in which it all happens, and ends it. Where none can be made, the reason is a note.
func (e *Env) inArena(ctx context.Context, t *result.Table,
	measure func(*load.Client, []*peers.Tool) error) (err error) {
	dir, err := e.scratch()
	if err != nil {
		return err
	}
	c, err := load.Self(ctx, load.Config{Arena: true, Brig: e.Brig, Scratch: dir})
	if err == nil {
		if _, err = c.Ask(load.Request{Op: "getppid", N: 1}); err != nil {
			if cerr := c.Close(); cerr != nil { // its exit has the reason
				err = cerr
			}
		}
	}
	if err != nil {
		t.Notes = []string{"left out: no network can be made apart from the host's: " + err.Error()}
		return ctx.Err()
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	t.Notes = append([]string{"client, relay and server share a network namespace that the benchmark makes, " +
		"with an address on lo; the host's network is not changed"}, t.Notes...)
	relays := slices.DeleteFunc(slices.Clone(e.Relays), func(r *peers.Tool) bool {
		if r.Info.Absent != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("absent: %s: %s", r.Info.Name, r.Info.Absent))
		} else if len(r.Info.Differs) > 0 {
			t.Notes = append(t.Notes, r.Info.Name+": "+strings.Join(r.Info.Differs, "; "))
		}
		return r.Info.Absent != ""
	})
	return measure(c, relays)
}
