package measure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"brig/cmd/brig-bench/internal/stats"
	"brig/internal/test/must"
)

// Over a cycle each stands at each place, and each follows each other one, equally often.
func TestWilliams(t *testing.T) {
	for n := 2; n <= 13; n++ {
		cycle := n
		if n%2 == 1 {
			cycle = 2 * n
		}
		place, after := map[[2]int]int{}, map[[2]int]int{}
		for round := range cycle {
			order := williams(n, round)
			if sorted := slices.Sorted(slices.Values(order)); sorted[0] != 0 || sorted[n-1] != n-1 || len(slices.Compact(sorted)) != n {
				t.Fatalf("%d contenders, round %d: %v", n, round, order)
			}
			for i, k := range order {
				place[[2]int{k, i}]++
				if i > 0 {
					after[[2]int{order[i-1], k}]++
				}
			}
		}
		if len(place) != n*n || len(after) != n*(n-1) {
			t.Errorf("%d contenders: %d places of %d, %d neighbours of %d", n, len(place), n*n, len(after), n*(n-1))
		}
		for k, times := range after {
			if times != cycle/n {
				t.Errorf("%d contenders: %d follows %d %d times, want %d", n, k[1], k[0], times, cycle/n)
			}
		}
	}
}

func quiet(string) {}

// fixed returns the same figure each time, and counts.
func fixed(name string, v float64, calls map[string]int) contender {
	return contender{name, func(context.Context) (float64, error) { calls[name]++; return v, nil }}
}

func TestInterleave(t *testing.T) {
	calls := map[string]int{}
	broken := contender{"broken", func(context.Context) (float64, error) {
		if calls["broken"]++; calls["broken"] > 3 {
			return 0, errors.New("no more")
		}
		return 1, nil
	}}
	s := must.Get(interleave(t.Context(), &Env{Progress: quiet}, plan{Rounds: 20, Base: "base"},
		[]contender{fixed("half", 1, calls), fixed("base", 2, calls), broken}))(t)
	if calls["half"] != 22 || calls["base"] != 44 || calls["broken"] != 4 {
		t.Errorf("calls: %v", calls)
	}
	rows := s.rows(stats.Time)
	if len(rows) != 3 || rows[0].Tool != "half" || rows[0].N != 20 || rows[0].Ratio.Verdict != "faster" || rows[0].Ratio.Median != 0.5 {
		t.Fatalf("rows: %+v", rows)
	}
	if rows[1].Ratio != nil || rows[2].Error != "no more" {
		t.Errorf("rows: %+v", rows)
	}
	if notes := strings.Join(s.notes(), "\n"); !strings.Contains(notes, "20 interleaved rounds") || !strings.Contains(notes, "base against itself: 1.000") {
		t.Errorf("notes: %s", notes)
	}
}

// A budget ends the rounds, but not before there are enough for a verdict.
func TestInterleaveBudget(t *testing.T) {
	calls := map[string]int{}
	s, err := interleave(t.Context(), &Env{Progress: quiet}, plan{Rounds: 1000, Base: "base", Budget: time.Nanosecond}, []contender{fixed("base", 2, calls)})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.samples("base")); n != fewest {
		t.Errorf("%d rounds, want %d", n, fewest)
	}
}

func TestInterleaveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := interleave(ctx, &Env{Progress: quiet}, plan{Rounds: 1000, Base: "base"}, []contender{{"base", func(context.Context) (float64, error) {
		if n++; n == 5 {
			cancel()
		}
		return 1, nil
	}}})
	if !errors.Is(err, context.Canceled) || n != 5 {
		t.Errorf("%d samples, %v", n, err)
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		env  Env
		want int
	}{{Env{}, 100}, {Env{Quick: true}, 10}, {Env{Quick: true, Rounds: 3}, 3}} {
		if got := c.env.count(100, 10); got != c.want {
			t.Errorf("%+v: %d, want %d", c.env, got, c.want)
		}
	}
}

func TestDimensionsHaveDistinctWords(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Dimensions() {
		if seen[d.ID] || d.ID == "" || strings.ContainsAny(d.ID, " ,") || d.Title == "" || d.run == nil {
			t.Errorf("%+v", d)
		}
		seen[d.ID] = true
	}
}
