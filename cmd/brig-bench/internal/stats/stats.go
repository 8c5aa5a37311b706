// Package stats compares samples, and reports only differences that chance does not explain. Samples of one round have
// the same index in all series, so that other work of the machine affects both sides of a comparison.
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

// Quantile returns the q-th quantile (0 to 1) of some samples, interpolated between neighbours; NaN without any.
func Quantile(samples []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
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

func median(samples []float64) float64 { return Quantile(samples, 0.5) }

// Ratio compares the medians of two series over the rounds that have both. The bootstrap draws rounds, not samples, and
// draws the same ones for the same number of rounds: equal samples give equal intervals.
func Ratio(samples, base []float64) result.Ratio {
	n := min(len(samples), len(base))
	a, b := samples[:n], base[:n]
	if n == 0 {
		return result.Ratio{Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
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
	return result.Ratio{Median: median(a) / median(b), Low: Quantile(ratios, 0.025), High: Quantile(ratios, 0.975)}
}

// margin widens the noise that was measured: it is itself a sample, and may be too small by chance.
const margin = 1.25

// Floor returns the smallest difference that is reported, as a fraction of 1. once and again are two series of one
// contender, whose difference is the noise.
func Floor(once, again []float64) float64 {
	r := Ratio(once, again)
	if math.IsNaN(r.Low) {
		return leastFloor
	}
	return max(leastFloor, margin*math.Abs(1-r.Low), margin*math.Abs(r.High-1))
}

// fewest is the least number of rounds for a verdict: an interval of fewer rounds means nothing.
const fewest = 5

// Compare returns the ratio of samples to base, named to, with a verdict: there is no difference if it is within the
// floor or if its interval contains 1. It returns nil if no round has both.
func Compare(to string, samples, base []float64, floor float64, words Words) *result.Ratio {
	r := Ratio(samples, base)
	if math.IsNaN(r.Median+r.High) || math.IsInf(r.Median, 0) || math.IsInf(r.High, 0) {
		return nil
	}
	r.To, r.Verdict = to, NoDifference
	switch {
	case min(len(samples), len(base)) < fewest || math.Abs(r.Median-1) <= floor:
	case r.High < 1:
		r.Verdict = words.Below
	case r.Low > 1:
		r.Verdict = words.Above
	}
	return &r
}

// Row fills a tool's row from its samples: N, P50, P90 and P99.
func Row(tool string, samples []float64) result.Row {
	if len(samples) == 0 {
		return result.Row{Tool: tool, Error: "no sample was taken"}
	}
	return result.Row{Tool: tool, N: len(samples), P50: median(samples), P90: Quantile(samples, 0.9),
		P99: Quantile(samples, 0.99)}
}
