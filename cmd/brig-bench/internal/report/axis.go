package report

import (
	"math"
	"slices"

	"brig/cmd/brig-bench/internal/result"

	"gonum.org/v1/plot"
)

// scale is an axis, linear or logarithmic. On a logarithmic one everything up to its floor, a zero above all, stands at
// the floor: there is nowhere else.
type scale struct {
	log         bool
	floor, high float64
}

// Normalize is for the plotting library.
func (s scale) Normalize(low, high, v float64) float64 {
	if s.log {
		v, low, high = math.Log(max(v, s.floor)), math.Log(low), math.Log(high)
	}
	return (v - low) / (high - low)
}

// valueScale is the axis for a table's figures: logarithmic when they span more than 20 times and none is negative. A
// linear one starts at 0, or bars would lie; a logarithmic one at a round value that is as far below the least figure as
// asked, for the least bar wants some length.
func valueScale(t *result.Table, below float64) scale {
	low, high, any := span(t)
	if !any {
		return scale{high: 1}
	}
	positive := math.Inf(1)
	for _, r := range t.Rows {
		for _, v := range []float64{r.P50, r.P99} {
			if unmeasured(t, r) == "" && v > 0 && drawable(v) {
				positive = min(positive, v)
			}
		}
	}
	if low >= 0 && high > logAt*positive {
		return scale{log: true, floor: nice(positive * below), high: high}
	}
	s := scale{floor: min(0, low), high: max(0, high)}
	if s.floor == s.high {
		s.high = 1
	}
	return s
}

// nice is the greatest of 1, 2 and 5 times a power of ten that is not above v.
func nice(v float64) float64 {
	if v < math.SmallestNonzeroFloat64*1e30 { // so far down that the powers of ten lose their digits
		return v
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{10, 5, 2} {
		if m*power <= v*(1+1e-9) {
			return m * power
		}
	}
	return power
}

// Ticks is for the plotting library: some five of them, at round values.
func (s scale) Ticks(low, high float64) (ticks []plot.Tick) {
	if !s.log {
		step := nice((high - low) / 4)
		for i := math.Ceil(low / step); i*step <= high*(1+1e-9); i++ {
			ticks = append(ticks, plot.Tick{Value: i * step, Label: round(tidy(i * step))})
		}
		return ticks
	}
	decades := math.Log10(high / low)
	multiples := []float64{1}
	if decades < 3 {
		multiples = []float64{1, 2, 5}
	}
	every := max(1, math.Ceil(decades/6))
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for _, m := range multiples {
			v := m * math.Pow(10, e)
			if v >= low*(1-1e-9) && v <= high*(1+1e-9) && math.Mod(e, every) == 0 {
				ticks = append(ticks, plot.Tick{Value: v, Label: round(tidy(v))})
			}
		}
	}
	return ticks
}

// tidy takes away what binary fractions add: 0.30000000000000004.
func tidy(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	unit := math.Pow(10, 12-math.Ceil(math.Log10(math.Abs(v))))
	if t := math.Round(v*unit) / unit; !math.IsNaN(t) && !math.IsInf(t, 0) {
		return t
	}
	return v
}

// overX tells whether a table is drawn as lines: it counts something, and was measured at more than one of it.
func overX(t *result.Table) bool { return t.X != "" && len(xs(t)) > 1 }

// xs are the X that have figures, ascending.
func xs(t *result.Table) (list []float64) {
	for _, r := range t.Rows {
		if unmeasured(t, r) == "" {
			list = append(list, r.X)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// xScale is the axis for X: logarithmic from eightfold on, and a zero then stands where the next smaller value would. A
// line, unlike a bar, need not begin at 0.
func xScale(list []float64) scale {
	first, last := list[0], list[len(list)-1]
	positive := list
	if first == 0 {
		positive = list[1:]
	}
	if first < 0 || len(positive) < 2 || last/positive[0] <= 8 {
		return scale{floor: first, high: last}
	}
	low := positive[0]
	if first == 0 {
		low /= math.Pow(last/low, 1/float64(len(positive)-1))
	}
	return scale{log: true, floor: low, high: last}
}
