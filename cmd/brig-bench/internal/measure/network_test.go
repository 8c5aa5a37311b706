package measure

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// netEnv has the bare process, and slirp4netns where it works.
func netEnv(t *testing.T) *Env {
	t.Helper()
	e := &Env{Quick: true, Rounds: 2, Brig: "/no/brig", Dir: t.TempDir()}
	for _, r := range peers.Relays(&peers.Host{Dir: e.Dir, Brig: e.Brig, Root: os.Geteuid() == 0}, load.Server) {
		if r.Info.Name != "pasta" {
			e.Relays = append(e.Relays, r)
		}
	}
	c, left, err := e.arena(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		t.Skip(left)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestNetworkDimensions(t *testing.T) {
	e := netEnv(t)
	all := e.Relays
	for _, d := range network() {
		e.Relays = all
		if d.ID == "net-many" { // slirp4netns takes seconds
			e.Relays = all[:2]
		}
		relayed := len(e.relays()) > 1
		table, err := d.Run(t.Context(), e)
		if err != nil || table.ID != d.ID || table.Title != d.Title || table.Unit == "" || table.Question == "" {
			t.Errorf("%s: %+v, %v", d.ID, table, err)
		}
		tools := map[string]bool{}
		for _, r := range table.Rows {
			difference := d.ID == "net-memory" || strings.HasSuffix(r.Tool, addedByNetwork) // where there is noise, of any sign
			if r.Error != "" || r.N < 1 || r.P50 <= 0 && !difference {
				t.Errorf("%s: %+v", d.ID, r)
			}
			tools[r.Tool] = true
		}
		own := d.ID == "net-start" || d.ID == "net-memory"
		if tools[peers.Direct] == own || tools["slirp4netns"] != relayed || d.ID == "net-start" && tools[peers.Isolated] != relayed {
			t.Errorf("%s has rows for %v", d.ID, tools)
		}
		if !slices.ContainsFunc(table.Notes, func(n string) bool { return strings.HasPrefix(n, "absent: "+peers.Egress) }) {
			t.Errorf("%s does not say who is absent: %q", d.ID, table.Notes)
		}
	}
}

func TestNetworkDimensionsEndWithTheContext(t *testing.T) {
	e := netEnv(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range network() {
		if table, err := d.Run(ctx, e); err == nil {
			t.Errorf("%s goes on: %+v", d.ID, table)
		}
	}
}

func TestNetOpValues(t *testing.T) {
	for _, op := range netOps() {
		nanos, n, want := []int64{2e9}, 512<<20, 256.0
		switch op.unit {
		case "µs":
			nanos, want = []int64{1000, 9000, 3000}, 3
		case "ms":
			nanos, want = []int64{5e6}, 5
		}
		if got := op.value(nanos, n); math.Abs(got-want) > 1e-9 || op.quick > op.n || op.higher != (op.words == stats.Rate) {
			t.Errorf("%s: %v, want %v; %+v", op.id, got, want, op)
		}
	}
}

// The network's part is that of each round, not the difference of two medians.
func TestAddedByTheNetwork(t *testing.T) {
	s := &Series{plan: Plan{Base: "a", Words: stats.Time}, order: []string{"a", "b"},
		taken: map[string][]float64{"a": {1, 2, 9, math.NaN(), 1}, "b": {2, 3, 10, 7, 2}, "a" + again: {1, 2, 9, 1, 1}}}
	rows := startRowsOf(s, map[string]string{"b": "a"})
	if len(rows) != 3 || rows[1].Ratio == nil || rows[1].Ratio.To != "a" || rows[2].Tool != "b"+addedByNetwork || rows[2].P50 != 1 || rows[2].P90 != 1 || rows[2].N != 4 {
		t.Errorf("%+v", rows)
	}
}

func TestBrigAgainstTheOthers(t *testing.T) {
	s := &Series{plan: Plan{Base: peers.Direct}, taken: map[string][]float64{peers.Direct: {9, 9, 9, 9, 9}, peers.Direct + again: {9, 9, 9, 9, 9},
		peers.Egress: {6, 6, 6, 6, 6}, "x": {3, 3, 3, 3, 3}}}
	relay := func(name, absent string) *peers.Relay {
		return &peers.Relay{Info: result.Tool{Name: name, Absent: absent}}
	}
	e := &Env{Relays: []*peers.Relay{relay(peers.Direct, ""), relay(peers.Egress, ""), relay("x", ""), relay("failed", ""), relay("y", "not installed")}}
	if got := e.against(s, stats.Rate); !slices.Equal(got, []string{peers.Egress + ": 2.00 of x (2.00 to 2.00): faster"}) {
		t.Errorf("%q", got)
	}
	if notes := e.netNotes(); !slices.Contains(notes, "absent: y: not installed") {
		t.Errorf("%q", notes)
	}
}

func TestHeldRow(t *testing.T) {
	got := map[string]map[int][]float64{peers.Egress: {1000: {10, 10, 10, 10, 10}}, "x": {1: {80}, 1000: {20, 20, 20, 20, 20}}}
	if r := heldRow("x", 1000, got, nil); r.P50 != 20 || r.X != 1000 || r.Ratio == nil || r.Ratio.Median != 2 || r.Ratio.Verdict != "more" {
		t.Errorf("%+v", r)
	}
	if r := heldRow("x", 1, got, nil); r.P50 != 80 || r.Ratio != nil {
		t.Errorf("%+v", r)
	}
	if r := heldRow("y", 1, got, map[string]error{"y": context.Canceled}); r.Error == "" || r.X != 1 {
		t.Errorf("%+v", r)
	}
}
