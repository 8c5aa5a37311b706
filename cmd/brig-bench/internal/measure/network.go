package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// netOp is what a process in a jail is asked to do with the server outside.
type netOp struct {
	id, title, question, unit string
	higher                    bool
	words                     stats.Words
	n, quick                  int // bytes of a transfer, or connections
	value                     func(nanos []int64, n int) float64
	notes                     []string
}

// relayed is how much a transfer is: long enough that the beginning of a connection is none of it.
const relayed, relayedQuick = 256 << 20, 128 << 20

const connections = 1000 // at once

// lapses are how often a contender may fail and begin anew, once before it has worked; the table says that it has.
const lapses = 3

func netOps() []netOp {
	rate := func(nanos []int64, n int) float64 { return float64(n) / (1 << 20) / (float64(nanos[0]) / 1e9) }
	middle := func(nanos []int64, _ int) float64 { return stats.Quantile(scaled(nanos, 1e3), 0.5) }
	const paces = "bars: brig at least 0.50 of direct loopback, and at least 1.5 of slirp4netns"
	return []netOp{
		{id: "net-down", title: "Download through the jail's network", question: "How fast do bytes arrive in the jail that a server outside sends?", unit: "MiB/s",
			higher: true, words: stats.Rate, n: relayed, quick: relayedQuick, value: rate, notes: []string{paces, "by the client's clock, from the connect to the last byte"}},
		{id: "net-up", title: "Upload through the jail's network", question: "How fast does a server outside take what the jail sends?", unit: "MiB/s",
			higher: true, words: stats.Rate, n: relayed, quick: relayedQuick, value: rate, notes: []string{paces, "by the client's clock, from the connect to the server's word that it has the last byte"}},
		{id: "net-dial", title: "System call: connect, to a server outside", question: "How long does connect(2) take in the jail, to a server outside?", unit: "µs",
			words: stats.Time, n: 500, quick: 100, notes: []string{"bar: brig at most 1.5 of direct loopback", "a sample is the median of some hundred connections, one after the other",
				"a relay answers before it has reached the server, which net-connect waits for"}, value: middle},
		{id: "net-connect", title: "Connections through the jail's network", question: "How long does a connection take, with a byte there, one back and the close?", unit: "µs",
			words: stats.Time, n: 500, quick: 100, notes: []string{"a sample is the median of some hundred connections, one after the other"}, value: middle},
		{id: "net-many", title: "A thousand connections at once", question: "How long does it take to open 1,000 connections at once, until each has its answer while all are open?", unit: "ms",
			words: stats.Time, n: connections, quick: connections, notes: []string{"a connection that is refused, or not answered in 30 s, is an error"},
			value: func(nanos []int64, _ int) float64 { return float64(nanos[0]) / 1e6 }},
	}
}

func network() (all []Dimension) {
	for _, op := range netOps() {
		all = append(all, Dimension{op.id, op.title, op.run})
	}
	return append(all, netStart(), netMemory())
}

// run asks the jails in turn, each through its own relay. The first request to a jail, which is not counted, starts it.
func (op netOp) run(ctx context.Context, e *Env) (t result.Table, err error) {
	t = result.Table{ID: op.id, Title: op.title, Question: op.question, Unit: op.unit, Higher: op.higher}
	c, left, err := e.arena(ctx)
	if c == nil {
		t.Notes = left
		return t, err
	}
	defer func() { err = errors.Join(err, ignoreEnd(ctx, c.Close())) }()
	n := op.n
	if e.Quick {
		n = op.quick
	}
	var all []Contender
	worked, lapsed := map[string]bool{}, map[string][]string{}
	for _, r := range e.relays() {
		all = append(all, Contender{r.Info.Name, func(ctx context.Context) (float64, error) {
			ask := load.Request{In: r.Info.Name, Op: op.id, Arg: load.Server, N: n}
			reply, err := c.Ask(ask)
			for err != nil && ctx.Err() == nil && (len(lapsed[r.Info.Name]) == 0 || worked[r.Info.Name]) && len(lapsed[r.Info.Name]) < lapses {
				lapsed[r.Info.Name] = append(lapsed[r.Info.Name], err.Error())
				_, _ = c.Ask(load.Request{In: r.Info.Name, Op: "net-end"}) // what has failed may fail to end
				reply, err = c.Ask(ask)
			}
			if err != nil {
				return 0, errors.Join(ctx.Err(), err)
			}
			worked[r.Info.Name] = true
			return op.value(reply.Nanos, n), nil
		}})
	}
	s, err := Interleave(ctx, e, Plan{Rounds: e.Count(30, 8), Warm: 1, Base: peers.Direct, Words: op.words, Budget: e.budget(40, 3)}, all)
	if err != nil {
		return t, err
	}
	t.Rows, t.Notes = s.Rows(), slices.Concat(e.netNotes(), op.notes, s.Notes(), e.against(s, op.words))
	for _, name := range slices.Sorted(maps.Keys(worked)) {
		if len(lapsed[name]) == 0 {
			continue
		}
		t.Notes = append(t.Notes, fmt.Sprintf("%s failed %d times and began anew, first: %s", name, len(lapsed[name]), lapsed[name][0]))
	}
	t.Notes = append(t.Notes, e.ended(c)...)
	return t, nil
}

// against compares brig with the other relays, too.
func (e *Env) against(s *Series, words stats.Words) (notes []string) {
	for _, r := range e.relays() {
		if r.Info.Name == peers.Direct || r.Info.Name == peers.Egress {
			continue
		}
		if c := stats.Compare(r.Info.Name, s.Samples(peers.Egress), s.Samples(r.Info.Name), s.Floor(), words); c != nil {
			notes = append(notes, fmt.Sprintf("%s: %.2f of %s (%.2f to %.2f): %s", peers.Egress, c.Median, c.To, c.Low, c.High, c.Verdict))
		}
	}
	return notes
}

// arena starts the namespace in which all of it happens. Where none can be made, the reason is a note of the table.
func (e *Env) arena(ctx context.Context) (c *load.Client, left []string, err error) {
	dir, err := e.scratch()
	if err != nil {
		return nil, nil, err
	}
	c, err = load.Arena(ctx, load.Config{Brig: e.Brig, Scratch: dir})
	if err == nil {
		if _, err = c.Ask(load.Request{Op: "getppid", N: 1}); err == nil {
			return c, nil, nil
		}
		if cerr := c.Close(); cerr != nil { // it has said why
			err = cerr
		}
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return nil, []string{"left out: no network can be made apart from the host's: " + err.Error()}, nil
}

// ended ends all jails and says who did not end well.
func (e *Env) ended(c *load.Client) (notes []string) {
	for _, r := range e.relays() {
		if _, err := c.Ask(load.Request{In: r.Info.Name, Op: "net-end"}); err != nil {
			notes = append(notes, r.Info.Name+" did not end well: "+err.Error())
		}
	}
	return notes
}

// relays are the contenders that are present.
func (e *Env) relays() (all []*peers.Relay) {
	for _, r := range e.Relays {
		if r.Info.Absent == "" {
			all = append(all, r)
		}
	}
	return all
}

// netNotes say where the measurement takes place, how each contender is set up, and who is absent.
func (e *Env) netNotes() []string {
	notes := []string{"client, relay and server share one machine and a network namespace that the benchmark makes, with an address on lo; the host's network is not touched"}
	for _, r := range e.Relays {
		switch {
		case r.Info.Absent != "":
			notes = append(notes, fmt.Sprintf("absent: %s: %s", r.Info.Name, r.Info.Absent))
		case len(r.Info.Differs) > 0:
			notes = append(notes, r.Info.Name+": "+strings.Join(r.Info.Differs, "; "))
		}
	}
	return notes
}
