package load

import (
	"math"
	"runtime/metrics"
	"slices"
	"testing"
)

func TestBetween(t *testing.T) {
	edges := []float64{0, 1e-6, 2e-6, math.Inf(1)}
	hist := func(counts ...uint64) *metrics.Float64Histogram {
		return &metrics.Float64Histogram{Counts: counts, Buckets: edges}
	}
	for _, tt := range []struct {
		before, after []uint64
		want          []Bucket
	}{
		{[]uint64{1, 1, 1}, []uint64{1, 1, 1}, nil},
		{[]uint64{1, 0, 0}, []uint64{3, 0, 1}, []Bucket{{1000, 2}, {2000, 1}}}, // the last bucket has no end
		{[]uint64{0, 4, 0}, []uint64{0, 9, 0}, []Bucket{{2000, 5}}},
	} {
		if got := between(hist(tt.before...), hist(tt.after...)); !slices.Equal(got, tt.want) {
			t.Errorf("%v to %v: %v", tt.before, tt.after, got)
		}
	}
}

func TestMergeAndQuantile(t *testing.T) {
	h := Merge([]Bucket{{20, 1}, {40, 97}}, nil, []Bucket{{10, 1}, {20, 1}})
	if want := []Bucket{{10, 1}, {20, 2}, {40, 97}}; !slices.Equal(h, want) || Count(h) != 100 {
		t.Fatalf("%v, %d", h, Count(h))
	}
	for q, want := range map[float64]int64{0: 10, 0.01: 10, 0.02: 20, 0.03: 20, 0.04: 40, 1: 40} {
		if got := Quantile(h, q); got != want {
			t.Errorf("quantile %v is %d, not %d", q, got, want)
		}
	}
	if Quantile(nil, 0.5) != 0 {
		t.Error("no pause has a length")
	}
}

func TestPausesAreCounted(t *testing.T) {
	c := start(t, Config{Scratch: t.TempDir()})
	for _, way := range []string{"", "no jail"} {
		r, err := c.Ask(Request{Op: "pauses", Arg: way, N: 30})
		if err != nil || Count(r.Pauses.Buckets) == 0 || (r.Pauses.Spawned > 0) != (way != "") {
			t.Errorf("%q: %+v, %v", way, r.Pauses, err)
		}
	}
	if r, err := c.Ask(Request{Op: "busy", Arg: "no jail", N: 10}); err != nil || r.Pauses.Spawned == 0 {
		t.Errorf("%+v, %v", r.Pauses, err)
	}
	if _, err := c.Ask(Request{Op: "pauses", Arg: "no such tool", N: 1}); err == nil {
		t.Error("a way that is none")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
