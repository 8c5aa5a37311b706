package report

import (
	"fmt"
	"math"
	"strings"

	"brig/cmd/brig-bench/internal/result"
)

// hard is what a plot must bear: each table has a golden file.
func hard() []result.Table {
	return []result.Table{
		{ID: "hard-empty", Title: "No rows", Unit: "ms"},
		{ID: "hard-failed", Title: "Nothing but failures", Unit: "ms", Rows: []result.Row{
			{Tool: "brig run", Error: strings.Repeat("a long story that ends badly, ", 20)}, {Tool: "nsjail", P50: math.NaN()}}},
		{ID: "hard-one", Title: "One row", Unit: "ms", Rows: []result.Row{{Tool: "brig run", N: 1, P50: 5, P90: 5, P99: 5}}},
		{ID: "hard-zero", Title: "Zeros alone", Unit: "KiB", Rows: []result.Row{{Tool: "brig run"}, {Tool: "no jail"}}},
		{ID: "hard-log", Title: "From microseconds to a minute, with what cannot be drawn", Unit: "ms", Rows: []result.Row{
			{Tool: "no jail", N: 9, P50: 0.002, P90: 0.003, P99: 0.004}, {Tool: "brig run", N: 9, P50: 5.7, P90: 6, P99: 41},
			{Tool: "brig Runner, prestarted", N: 9, P50: 0.9, P90: 1, P99: 1.2}, {Tool: "a zero", N: 9},
			{Tool: "a slow one", N: 9, P50: 1234, P90: 2345, P99: 60000}, {Tool: "infinite", P50: math.Inf(1)},
			{Tool: "half infinite", N: 9, P50: 20, P90: math.NaN(), P99: math.Inf(1)}, {Tool: "nothing", P50: math.NaN()}}},
		{ID: "hard-negative", Title: "Noise about zero", Unit: "KiB", Rows: []result.Row{
			{Tool: "no jail", N: 5, P50: -12, P90: 3, P99: 8}, {Tool: "brig run", N: 5, P50: 31, P90: 35, P99: 36}, {Tool: "bubblewrap", N: 5, P50: 90, P99: -20}}},
		twenty("hard-twenty", "", 1), twenty("hard-twenty-lines", "clients", 5),
		{ID: "hard-names", Title: strings.Repeat("A title that does not know when to stop ", 6), Unit: "ms", Rows: []result.Row{
			{Tool: "brig run, with every single option that its manual page has, and then some", N: 3, P50: 7, P99: 9},
			{Tool: strings.Repeat("unbroken", 20), N: 3, P50: 1234567.8, P99: 2000000},
			{Tool: "bubblewrap, fewer mounts", Error: strings.Repeat("unbroken", 60)}, {Tool: " ", N: 3, P50: 9}}},
		{ID: "hard-lines", Title: "Lines with gaps", Unit: "ms", X: "running jails, which is a rather long name for what stands across", Rows: []result.Row{
			{Tool: "brig run", X: 0, P50: 5, P99: 6}, {Tool: "brig run", X: 1000, P50: 6, P99: 6}, {Tool: "brig run", X: 100, P50: 5, P99: 6}, {Tool: "brig run", X: 10, P50: 5},
			{Tool: "gaps", X: 0, P50: 5.1}, {Tool: "gaps", X: 10, Error: "first"}, {Tool: "gaps", X: 100, P50: 5.2}, {Tool: "gaps", X: 1000, P50: 6.1},
			{Tool: strings.Repeat("unbroken", 20), X: 1000, P50: 6.2}, {Tool: "never", Error: "second"}, {Tool: "nowhere", X: math.NaN(), P50: 1},
			{Tool: "nan", X: 10, P50: math.NaN()}, {Tool: "inf", X: 10, P50: math.Inf(-1)}, {Tool: "no jail", X: 10, P50: 0}, {Tool: "no jail", X: 1000, P50: 0}}},
		{ID: "hard-one-x", Title: "A table over X with one X", Unit: "1/s", Higher: true, X: "clients", Rows: []result.Row{
			{Tool: "brig run", X: 4, N: 8, P50: 300, P90: 310, P99: 311}, {Tool: "bubblewrap", X: 4, N: 8, P50: 200, P90: 190, P99: 180}}},
		{ID: "hard-tiny", Title: "Figures at the ends of what a float can be", Unit: "s", Rows: []result.Row{
			{Tool: "brig run", P50: math.SmallestNonzeroFloat64}, {Tool: "bubblewrap", P50: math.MaxFloat64}}},
		{ID: "hard-close", Title: "Figures that hardly differ, at X that hardly differ", Unit: "ms", X: "MiB", Rows: []result.Row{
			{Tool: "brig run", X: 1e6, P50: 5}, {Tool: "brig run", X: 1e6 + 1, P50: 5}, {Tool: "nsjail", X: 1e6, P50: 5}, {Tool: "nsjail", X: 1e6 + 1, P50: 5}}},
	}
}

// twenty has twenty tools, each at so many X.
func twenty(id, x string, points int) result.Table {
	t := result.Table{ID: id, Title: "Twenty tools", Unit: "ms", X: x}
	for i := range 20 {
		tool := fmt.Sprintf("contender %d", i+1)
		switch i {
		case 0:
			tool = "no jail"
		case 1, 2, 3:
			tool = fmt.Sprintf("brig run %d", i)
		}
		for p := range points {
			v := 4 + float64(i%7) + float64(p*i)/3
			t.Rows = append(t.Rows, result.Row{Tool: tool, X: float64(p), N: 9, P50: v, P90: v * 1.2, P99: v * 1.4})
		}
	}
	return t
}
