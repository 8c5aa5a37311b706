// Package stats says what samples show, and refuses to say more. Samples of one round stand at one index in all
// series, so that what else the machine did in that round meets both sides of a comparison; NaN is a sample that was
// not taken.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"brig/cmd/brig-bench/internal/result"
)

// resamples is how often the bootstrap draws; the interval's ends then move by less than a tenth of its width.
const resamples = 1000

// leastFloor is the difference that is believed at best, as a share: no machine is quieter than that for long.
const leastFloor = 0.01

// Words are how a difference is named.
type Words struct {
	Below, Above string // the verdict when the ratio is below and above 1
}

// Time, Amount and Rate are the words for durations, for amounts that cost something, and for work done in a time.
var (
	Time   = Words{"faster", "slower"}
	Amount = Words{"less", "more"}
	Rate   = Words{"slower", "faster"}
)

// NoDifference is the verdict on samples that show none.
const NoDifference = "no difference shown"

// Present gives the samples that were taken.
func Present(samples []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(samples), math.IsNaN)
}

// Quantile is the q-th quantile (0 to 1) of the samples that were taken, interpolated between neighbours; NaN without any.
func Quantile(samples []float64, q float64) float64 {
	sorted := Present(samples)
	slices.Sort(sorted)
	return quantile(sorted, q)
}

// quantile wants its samples sorted.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// Interval is a ratio of medians and its 95 % bootstrap interval.
type Interval struct {
	Median, Low, High float64
}

// Ratio compares the medians of two series over the rounds that have both. The bootstrap draws rounds, not samples, and
// draws the same ones for the same number of rounds: equal samples give equal intervals.
func Ratio(samples, base []float64) Interval {
	var a, b []float64
	for i := range min(len(samples), len(base)) {
		if !math.IsNaN(samples[i]) && !math.IsNaN(base[i]) {
			a, b = append(a, samples[i]), append(b, base[i])
		}
	}
	if len(a) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(a))))
	ratios := make([]float64, resamples)
	x, y := make([]float64, len(a)), make([]float64, len(a))
	for i := range ratios {
		for k := range x {
			n := random.IntN(len(a))
			x[k], y[k] = a[n], b[n]
		}
		ratios[i] = median(x) / median(y)
	}
	slices.Sort(ratios)
	return Interval{median(a) / median(b), quantile(ratios, 0.025), quantile(ratios, 0.975)}
}

// median sorts its argument.
func median(samples []float64) float64 {
	slices.Sort(samples)
	return quantile(samples, 0.5)
}

// margin is how much farther than a contender from itself two contenders must be: the interval of equal things is itself
// a sample.
const margin = 1.25

// Floor is the smallest difference that counts, as a share of 1, when a contender and itself have given these series:
// what chance and position do to two equal things, and a quarter as much again.
func Floor(once, again []float64) float64 {
	r := Ratio(once, again)
	if math.IsNaN(r.Low) {
		return leastFloor
	}
	return max(leastFloor, margin*math.Abs(1-r.Low), margin*math.Abs(r.High-1))
}

// fewest is the number of rounds below which no difference is called one: an interval of fewer is no interval.
const fewest = 5

// Compare gives the ratio of samples to base, whose name is to, with a verdict: a difference within the floor, or whose
// interval contains 1, is none. It is nil when no round has both.
func Compare(to string, samples, base []float64, floor float64, words Words) *result.Ratio {
	pairs := 0
	for i := range min(len(samples), len(base)) {
		if !math.IsNaN(samples[i]) && !math.IsNaN(base[i]) {
			pairs++
		}
	}
	iv := Ratio(samples, base)
	if pairs == 0 || math.IsNaN(iv.Median) || math.IsInf(iv.Median, 0) || math.IsNaN(iv.High) || math.IsInf(iv.High, 0) {
		return nil
	}
	r := &result.Ratio{To: to, Median: iv.Median, Low: iv.Low, High: iv.High, Verdict: NoDifference}
	switch {
	case pairs < fewest || math.Abs(iv.Median-1) <= floor:
	case iv.High < 1:
		r.Verdict = words.Below
	case iv.Low > 1:
		r.Verdict = words.Above
	}
	return r
}

// Row fills a tool's row from its samples: N, P50, P90 and P99.
func Row(tool string, samples []float64) result.Row {
	got := Present(samples)
	if len(got) == 0 {
		return result.Row{Tool: tool, Error: "no sample was taken"}
	}
	return result.Row{Tool: tool, N: len(got), P50: Quantile(got, 0.5), P90: Quantile(got, 0.9), P99: Quantile(got, 0.99)}
}
