package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		q, want float64
	}{
		{[]float64{5, 1, 4, 2, 3}, 0, 1},
		{[]float64{5, 1, 4, 2, 3}, 0.5, 3},
		{[]float64{5, 1, 4, 2, 3}, 1, 5},
		{[]float64{1, 2}, 0.5, 1.5},
		{[]float64{0, 10}, 0.9, 9},
		{[]float64{7}, 0.99, 7},
	} {
		if got := Quantile(c.samples, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.samples, c.q, got, c.want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	samples := []float64{3, 1, 2}
	if Quantile(samples, 0.5); !slices.Equal(samples, []float64{3, 1, 2}) {
		t.Error("Quantile has sorted its argument")
	}
}

// noisy draws from a distribution like that of a start: a floor, and a long tail.
func noisy(r *rand.Rand, n int, scale float64) (samples []float64) {
	for range n {
		samples = append(samples, scale*(1+0.3*math.Exp(0.7*r.NormFloat64())))
	}
	return samples
}

// Two equal things are hardly ever told apart.
func TestEqualThingsNeverWin(t *testing.T) {
	trials, wins := 100, 0
	for seed := range trials {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		once, again, other := noisy(r, 60, 5), noisy(r, 60, 5), noisy(r, 60, 5)
		if c := Compare("base", other, once, Floor(once, again), Time); c.Verdict != NoDifference {
			wins++
			t.Logf("seed %d: %+v", seed, *c)
		}
	}
	if wins*100 > trials { // the interval alone would have 5 in 100
		t.Errorf("%d of %d comparisons of equal things have a winner", wins, trials)
	}
}

func TestDifferencesAreFound(t *testing.T) {
	for seed := range 40 {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		once, again := noisy(r, 60, 5), noisy(r, 60, 5)
		floor := Floor(once, again)
		fast, slow := Compare("base", noisy(r, 60, 2.5), once, floor, Time), Compare("base", noisy(r, 60, 10), once, floor, Time)
		if fast.Verdict != "faster" || slow.Verdict != "slower" {
			t.Fatalf("seed %d, floor %.2f: half is %+v, double is %+v", seed, floor, *fast, *slow)
		}
		if math.Abs(fast.Median-0.5) > 0.1 || fast.Low > fast.Median || fast.High < fast.Median {
			t.Errorf("seed %d: half is %+v", seed, *fast)
		}
	}
}

func TestCompare(t *testing.T) {
	ones, twos := slices.Repeat([]float64{1}, 20), slices.Repeat([]float64{2}, 20)
	wide := []float64{1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 9}
	for _, c := range []struct {
		name          string
		samples, base []float64
		floor         float64
		words         Words
		want          string
	}{
		{"twice", twos, ones, 0.01, Time, "slower"},
		{"half", ones, twos, 0.01, Time, "faster"},
		{"half the work", ones, twos, 0.01, Rate, "slower"},
		{"twice the memory", twos, ones, 0.01, Amount, "more"},
		{"more of one", twos, ones[:10], 0.01, Amount, "more"},
		{"equal", ones, ones, 0.01, Time, NoDifference},
		{"within the floor", twos, ones, 1, Time, NoDifference},
		{"four pairs", twos[:4], ones[:4], 0.01, Time, NoDifference},
		{"an interval around 1", wide, slices.Repeat([]float64{5}, len(wide)), 0.01, Time, NoDifference},
	} {
		got := Compare("base", c.samples, c.base, c.floor, c.words)
		if got == nil || got.Verdict != c.want || got.To != "base" {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
	if got := Compare("base", nil, []float64{1}, 0.01, Time); got != nil {
		t.Errorf("without a pair: %+v", *got)
	}
	if got := Compare("base", ones, slices.Repeat([]float64{0}, 20), 0.01, Time); got != nil {
		t.Errorf("of a base of 0: %+v", *got)
	}
}

// The same samples give the same interval: a report can be checked.
func TestRatioIsDeterministic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a, b := noisy(r, 40, 1), noisy(r, 40, 2)
	if x, y := Ratio(a, b), Ratio(a, b); x != y {
		t.Errorf("%+v, %+v", x, y)
	}
}

func TestFloor(t *testing.T) {
	same := slices.Repeat([]float64{1}, 20)
	if got := Floor(same, same); got != leastFloor {
		t.Errorf("of a quiet machine: %v", got)
	}
	if got := Floor(nil, nil); got != leastFloor {
		t.Errorf("of nothing: %v", got)
	}
	r := rand.New(rand.NewPCG(3, 4))
	if got := Floor(noisy(r, 10, 1), noisy(r, 10, 1)); got <= leastFloor {
		t.Errorf("of noise: %v", got)
	}
}

func TestRow(t *testing.T) {
	row := Row("x", []float64{1, 3})
	if row.N != 2 || row.P50 != 2 || math.Abs(row.P90-2.8) > 1e-9 || row.Error != "" {
		t.Errorf("%+v", row)
	}
	if row := Row("x", nil); row.Error == "" {
		t.Error("a row of nothing has no error")
	}
}
