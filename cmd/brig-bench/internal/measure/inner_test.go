package measure

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/internal/test/long"
)

// The test binary is its own payload, and measures in a network apart, as the benchmark does.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == load.Subcommand:
		err = load.Perform(os.Args[2:], os.Stdin, os.Stdout)
	case len(os.Args) > 1 && os.Args[1] == Subcommand:
		err = Apart(context.Background(), os.Args[2:], os.Stdout)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// env has the contenders that every machine has, bubblewrap if it is there, and no brig program.
func env(t *testing.T) *Env {
	t.Helper()
	e := &Env{Quick: true, Rounds: 1, Brig: "/no/brig", Dir: t.TempDir(), Progress: quiet}
	h := &peers.Host{Dir: e.Dir, Brig: e.Brig, Root: os.Geteuid() == 0}
	for _, tool := range peers.All(h) {
		if n := tool.Info.Name; n == peers.Bare || n == "brig Runner" || n == "bubblewrap" && tool.Info.Absent == "" {
			e.Tools = append(e.Tools, tool)
		}
	}
	for _, r := range peers.Relays(h) {
		if r.Info.Absent == "" {
			e.Relays = append(e.Relays, r)
		}
	}
	if len(e.Tools) < 2 || len(e.Relays) < 1 {
		t.Fatalf("%d contenders, %d relays", len(e.Tools), len(e.Relays))
	}
	return e
}

// Every measurement fills its table with the contenders that are there, or a note tells why not.
func TestDimensions(t *testing.T) {
	long.Test(t)
	all := env(t)
	for _, d := range Dimensions() {
		e := all
		if slices.Contains([]string{"job-make", "job-go", "job-npm", "job-pytest"}, d.ID) { // seconds each
			few := *all
			few.Tools, e = all.Tools[:1], &few
		}
		table, err := d.Run(t.Context(), e)
		if err != nil || table.ID != d.ID || table.Title == "" || table.Unit == "" || table.Question == "" {
			t.Errorf("%s: %+v, %v", d.ID, table, err)
		}
		if len(table.Rows) == 0 && len(table.Notes) != 1 && d.ID != "net-start" && d.ID != "net-memory" {
			t.Errorf("%s has no rows: %q", d.ID, table.Notes)
		}
		for _, r := range table.Rows {
			difference := d.ID == "net-memory" || strings.HasSuffix(r.Tool, "added by the network")
			if strings.Contains(d.ID, "limits") && os.Geteuid() != 0 && strings.Contains(r.Error, "control group") {
				continue // an ordinary user may have none to give
			}
			if r.Error != "" || r.N < 1 || r.P50 <= 0 && !difference {
				t.Errorf("%s: %+v", d.ID, r)
			}
		}
	}
}

func TestDimensionsEndWithTheContext(t *testing.T) {
	e := env(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range Dimensions() {
		if table, err := d.Run(ctx, e); err == nil {
			t.Errorf("%s goes on: %+v", d.ID, table)
		}
	}
}

func TestNetOpValues(t *testing.T) {
	for _, op := range netOps() {
		nanos, n, want := []int64{2e9}, 512<<20, 256.0
		if op.Unit == "µs" {
			nanos, want = []int64{1000, 9000, 3000}, 3
		}
		if got := op.value(nanos, n); math.Abs(got-want) > 1e-9 || op.quick > op.n {
			t.Errorf("%s: %v, want %v; %+v", op.ID, got, want, op)
		}
	}
}

// The network's part is that of each round, not the difference of two medians.
func TestAddedByTheNetwork(t *testing.T) {
	s := &series{plan: plan{Base: "a"}, order: []string{"a", "b"},
		taken: map[string][]float64{"a": {1, 2, 9, 1}, "b": {2, 3, 10, 2}, "a" + again: {1, 2, 9, 1}}}
	rows := added(s, map[string]string{"b": "a"})
	if len(rows) != 3 || rows[1].Ratio == nil || rows[1].Ratio.To != "a" || rows[2].Tool != "b, added by the network" ||
		rows[2].P50 != 1 || rows[2].P90 != 1 || rows[2].N != 4 {
		t.Errorf("%+v", rows)
	}
}
