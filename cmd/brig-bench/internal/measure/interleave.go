package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// contender is one side of a comparison. Sample takes one sample, in the table's unit.
type contender struct {
	Name   string
	Sample func(ctx context.Context) (float64, error)
}

// asked returns a contender whose payload measures. of converts the times that it prints to a sample.
func asked(r *peers.Ready, of func(nanos []int64) float64) contender {
	return contender{r.Tool.Info.Name, func(context.Context) (float64, error) {
		nanos, err := load.Ask(r)
		if err != nil {
			return 0, err
		}
		return of(nanos), nil
	}}
}

// plan describes a comparison. The base is sampled twice in each round: the difference of these two series is the
// noise, and no smaller difference is reported.
type plan struct {
	Rounds int
	Idle   time.Duration // before each sample
	Budget time.Duration // no round begins after it, but for the fewest that a verdict needs; 0 is no bound
	Base   string        // the contender that the others are compared with
}

// series is what interleave has sampled: a number for each contender and round, until the contender fails.
type series struct {
	plan   plan
	order  []string
	taken  map[string][]float64
	failed map[string]error
}

const (
	again       = " (again)"
	fewest      = 8 // the least number of rounds, also beyond the budget
	fewestQuick = 5
	warmth      = 2 // rounds that do not count
	slow        = 40 * time.Millisecond
	respite     = 50 * time.Millisecond // after a contender that takes longer: an engine, which cleans up after its answer
	settling    = 2 * time.Second       // for kernel work that the first rounds have left behind
)

// interleave samples all contenders in each round. The orders of the rounds are a Williams square: over a cycle each
// contender has each place, and follows each other one, equally often, so that what a jail leaves the kernel to
// clean up affects all alike. A contender that fails is out.
func interleave(ctx context.Context, e *Env, p plan, all []contender) (*series, error) {
	s := &series{plan: p, taken: map[string][]float64{}, failed: map[string]error{}}
	for _, c := range all {
		s.order = append(s.order, c.Name)
		if c.Name == p.Base {
			all = append(slices.Clip(all), contender{c.Name + again, c.Sample})
		}
	}
	least := fewest
	if e.Quick {
		least = fewestQuick
	}
	var start time.Time
	for round := -warmth; round < p.Rounds; round++ {
		if round == 0 {
			if err := sleep(ctx, min(p.Budget/10, settling)); err != nil {
				return nil, err
			}
			start = time.Now()
		}
		if p.Budget > 0 && round >= least && time.Since(start) > p.Budget {
			break
		}
		e.Progress(fmt.Sprintf("round %d of %d", round+1, p.Rounds))
		for _, k := range williams(len(all), round+warmth) {
			if err := s.turn(ctx, all[k], round >= 0); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// turn takes a sample of a contender, or the first ones, which do not count. A failure is recorded; only the error of
// the context is returned.
func (s *series) turn(ctx context.Context, c contender, counts bool) error {
	if s.failed[c.Name] != nil {
		return nil
	}
	if counts {
		if err := sleep(ctx, s.plan.Idle); err != nil {
			return err
		}
	}
	begin := time.Now()
	v, err := c.Sample(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.failed[c.Name] = err
	case counts:
		s.taken[c.Name] = append(s.taken[c.Name], v)
	}
	if time.Since(begin) > slow {
		return sleep(ctx, respite)
	}
	return nil
}

// compare samples all contenders and fills the table.
func (e *Env) compare(ctx context.Context, t *result.Table, p plan, all []contender) (*series, error) {
	s, err := interleave(ctx, e, p, all)
	if err == nil {
		t.Rows, t.Notes = append(s.rows(words(t)), t.Rows...), append(t.Notes, s.notes()...)
	}
	return s, err
}

// williams returns the order of n contenders in a round.
func williams(n, round int) []int {
	order := make([]int, n)
	for i := range order {
		at := (i + 1) / 2
		if i%2 == 0 {
			at = n - at
		}
		order[i] = (at + round) % n
	}
	if n%2 == 1 && round/n%2 == 1 { // an odd number needs the mirrored square, too
		slices.Reverse(order)
	}
	return order
}

// samples returns the samples of a contender, one for each round.
func (s *series) samples(name string) []float64 { return s.taken[name] }

// floor returns the smallest difference that is reported, as a fraction of 1.
func (s *series) floor() float64 {
	return stats.Floor(s.taken[s.plan.Base], s.taken[s.plan.Base+again])
}

// words are how a difference of a table's figures is named.
func words(t *result.Table) stats.Words {
	if t.Higher {
		return stats.Rate
	}
	return stats.Time
}

// rows returns the contenders' figures in the order of the contenders, each compared with the base.
func (s *series) rows(words stats.Words) (rows []result.Row) {
	floor := s.floor()
	for _, name := range s.order {
		if err := s.failed[name]; err != nil {
			rows = append(rows, result.Row{Tool: name, Error: err.Error()})
			continue
		}
		row := stats.Row(name, s.taken[name])
		if name != s.plan.Base {
			row.Ratio = stats.Compare(s.plan.Base, s.taken[name], s.taken[s.plan.Base], floor, words)
		}
		rows = append(rows, row)
	}
	return rows
}

// notes returns how the samples were taken, and the noise.
func (s *series) notes() []string {
	rounds := len(s.taken[s.plan.Base])
	notes := []string{fmt.Sprintf("%d interleaved rounds; after a contender that takes longer than %v the next waits %v",
		rounds, slow, respite)}
	if a, b := s.taken[s.plan.Base], s.taken[s.plan.Base+again]; len(b) > 0 {
		iv := stats.Ratio(b, a)
		notes = append(notes, fmt.Sprintf("%s against itself: %.3f (%.3f to %.3f); a difference below %.1f %% is called none",
			s.plan.Base, iv.Median, iv.Low, iv.High, 100*s.floor()))
	}
	return notes
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return ctx.Err()
}
