package measure

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/nsjail"
)

// The test binary is its own worker, as the benchmark is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == load.Subcommand {
		if err := load.Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// env has the contenders that every machine has, and no brig program.
func env(t *testing.T) *Env {
	t.Helper()
	dir := t.TempDir()
	e := &Env{Quick: true, Rounds: 2, Patience: time.Hour, Brig: "/no/brig", Dir: dir, Runner: nsjail.NewRunnerWith}
	for _, tool := range peers.All(&peers.Host{Dir: dir, Brig: e.Brig, Root: os.Geteuid() == 0, Runner: e.Runner}) {
		if tool.Info.Name == "no jail" || tool.Info.Name == "brig Runner" {
			e.Tools = append(e.Tools, tool)
		}
	}
	if len(e.Tools) != 2 {
		t.Fatalf("%d contenders", len(e.Tools))
	}
	return e
}

func TestInnerDimensions(t *testing.T) {
	e := env(t)
	for _, d := range inner() {
		table, err := d.Run(t.Context(), e)
		if err != nil || table.ID != d.ID || table.Title != d.Title || table.Unit == "" || table.Question == "" {
			t.Errorf("%s: %+v, %v", d.ID, table, err)
		}
		tools := map[string]bool{}
		for _, r := range table.Rows {
			// a difference of the machine's memory may be anything where few jails run
			if r.Error != "" || r.N < 1 || r.P50 <= 0 && !strings.HasPrefix(d.ID, "memory") && !strings.HasPrefix(d.ID, "growth") {
				t.Errorf("%s: %+v", d.ID, r)
			}
			first, _, _ := strings.Cut(r.Tool, ":")
			tools[first] = true
		}
		if !tools["brig Runner"] || !tools["no jail"] && !strings.HasPrefix(d.ID, "growth") {
			if len(table.Rows) > 0 || d.ID != "inside-python" {
				t.Errorf("%s has rows for %v", d.ID, tools)
			}
		}
	}
}

func TestInnerDimensionsEndWithTheContext(t *testing.T) {
	e := env(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, d := range inner() {
		if table, err := d.Run(ctx, e); err == nil {
			t.Errorf("%s goes on: %+v", d.ID, table)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		bound     int64
		fit, left []int
	}{
		{10000, []int{0, 256, 1024, 4096}, nil},
		{5375, []int{0, 256, 1024}, []int{4096}},
		{255, []int{0}, []int{256, 1024, 4096}},
		{1100, []int{0, 256}, []int{1024, 4096}},
	} {
		if fit, left := within(heapSizes, tt.bound); !slices.Equal(fit, tt.fit) || !slices.Equal(left, tt.left) {
			t.Errorf("%d: %v, %v", tt.bound, fit, left)
		}
	}
}

func TestGrowthIsPerJailSinceTheFirst(t *testing.T) {
	points := []point{
		{usage: load.Usage{Jails: 1, RSS: 10 << 20, Heap: 1 << 20, Stacks: 0, FDs: 10, Threads: 5, Goroutines: 3}},
		{usage: load.Usage{Jails: 11, RSS: 10<<20 + 120<<10, Heap: 1<<20 + 80<<10, Stacks: 20 << 10, FDs: 30, Threads: 6, Goroutines: 13}},
	}
	var got []float64
	for _, r := range append(memoryRows(points), handleRows(points)...) {
		got = append(got, r.X, r.P50)
	}
	if want := []float64{11, 12, 11, 8, 11, 2, 1, 5, 11, 6, 11, 2, 11, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestMeter(t *testing.T) {
	begin := time.Now()
	m := meter{bytes: 8 << 20, first: begin, last: begin.Add(time.Second / 2)}
	if v, err := m.rate(8 << 20); err != nil || math.Abs(v-16) > 1e-9 {
		t.Errorf("%v MiB/s, %v", v, err)
	}
	if _, err := m.rate(9 << 20); err == nil {
		t.Error("bytes are missing, and that is no error")
	}
}

func TestHold(t *testing.T) {
	h, err := hold(t.Context(), env(t).Tools[0], 2)
	if err != nil || h.hidden || h.guessed || h.processes < 10 || h.took <= 0 {
		t.Errorf("%+v, %v", h, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hold(ctx, env(t).Tools[0], 1); err == nil {
		t.Error("it goes on after the end of the context")
	}
}

func TestSizesOfUnknownProcesses(t *testing.T) {
	if h, err := sizes([]int{os.Getpid(), 0}); err != nil || !h.hidden || h.processes != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Dimensions() {
		if seen[d.ID] || d.Title == "" || d.Run == nil {
			t.Errorf("%q", d.ID)
		}
		seen[d.ID] = true
	}
}
