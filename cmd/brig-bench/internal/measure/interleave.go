package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"brig/cmd/brig-bench/internal/load"
	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/cmd/brig-bench/internal/stats"
)

// Contender is one side of a comparison. Sample takes one sample, in the table's unit.
type Contender struct {
	Name   string
	Sample func(ctx context.Context) (float64, error)
}

// asked returns a contender whose payload measures. of converts the times that it prints to a sample.
func asked(r *peers.Ready, of func(nanos []int64) float64) Contender {
	return Contender{r.Tool.Info.Name, func(context.Context) (float64, error) {
		nanos, err := load.Ask(r)
		if err != nil {
			return 0, err
		}
		return of(nanos), nil
	}}
}

// Plan describes a comparison. The base is sampled twice in each round: the difference of these two series is the
// noise, and no smaller difference is reported.
type Plan struct {
	Rounds int
	Idle   time.Duration // before each sample
	Budget time.Duration // no round begins after it, but for the fewest that a verdict needs; 0 is no bound
	Base   string        // the contender that the others are compared with
	Words  stats.Words
}

// Series is what Interleave has sampled, a number or NaN for each contender and round.
type Series struct {
	plan   Plan
	order  []string
	taken  map[string][]float64
	failed map[string]error
}

const (
	again       = " (again)"
	slow        = 40 * time.Millisecond // a contender that takes longer sits some rounds out
	fewest      = 8                     // the least number of rounds, also of a slow contender and beyond the budget
	fewestQuick = 5
	respite     = 50 * time.Millisecond // after a slow contender
	settling    = 2 * time.Second       // for kernel work that the warm-up has left behind
)

// Interleave samples all contenders in each round. The orders of the rounds are a Williams square: over a cycle each
// contender has each place, and follows each other one, equally often, so that what a jail leaves the kernel to
// clean up affects all alike. A contender that fails is out.
func Interleave(ctx context.Context, e *Env, p Plan, all []Contender) (*Series, error) {
	s := &Series{plan: p, taken: map[string][]float64{}, failed: map[string]error{}}
	for _, c := range all {
		s.order = append(s.order, c.Name)
		if c.Name == p.Base {
			all = append(slices.Clip(all), Contender{c.Name + again, c.Sample})
		}
	}
	least := fewest
	if e.Quick {
		least = fewestQuick
	}
	stride, err := s.warm(ctx, e, all, least)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for round := range p.Rounds {
		if p.Budget > 0 && round >= least && time.Since(start) > p.Budget {
			break
		}
		for _, c := range all {
			s.taken[c.Name] = append(s.taken[c.Name], math.NaN())
		}
		e.Progress(fmt.Sprintf("round %d of %d", round+1, p.Rounds))
		for _, k := range williams(len(all), round) {
			if c := all[k]; s.failed[c.Name] == nil && (round < least || round%stride[k] == 0) {
				if err := s.turn(ctx, c, round, stride[k] > 1); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, nil
}

// compare samples all contenders and fills the table.
func (e *Env) compare(ctx context.Context, t *result.Table, p Plan, all []Contender) (*Series, error) {
	s, err := Interleave(ctx, e, p, all)
	if err == nil {
		t.Rows, t.Notes = append(s.Rows(), t.Rows...), append(t.Notes, s.Notes()...)
	}
	return s, err
}

// warm takes the first samples of each contender, and returns its stride: it takes part in every stride-th round.
func (s *Series) warm(ctx context.Context, e *Env, all []Contender, least int) ([]int, error) {
	stride := make([]int, len(all))
	rounds := 2
	if e.Quick {
		rounds = 1
	}
	for i := range rounds {
		for k, c := range all {
			if s.failed[c.Name] != nil || i > 0 && stride[k] != 1 {
				continue
			}
			e.Progress("warming up: " + c.Name)
			start := time.Now()
			if _, err := s.sample(ctx, c); err != nil {
				return nil, err
			}
			took := time.Since(start)
			stride[k] = max(1, min(int(took/slow)+1, s.plan.Rounds/least))
		}
	}
	return stride, sleep(ctx, min(s.plan.Budget/10, settling))
}

// turn takes a contender's sample in a round. A slow one is an engine, which cleans up after its answer: the next one
// waits.
func (s *Series) turn(ctx context.Context, c Contender, round int, slow bool) error {
	if err := sleep(ctx, s.plan.Idle); err != nil {
		return err
	}
	v, err := s.sample(ctx, c)
	if err != nil {
		return err
	}
	s.taken[c.Name][round] = v
	if slow {
		return sleep(ctx, respite)
	}
	return nil
}

// sample takes one sample. A failure of the contender is recorded; only the error of the context is returned.
func (s *Series) sample(ctx context.Context, c Contender) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v, err := c.Sample(ctx)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err != nil {
		s.failed[c.Name] = err
		return math.NaN(), nil
	}
	return v, nil
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

// Samples returns the samples of a contender, one for each round, NaN for a round in which it took none.
func (s *Series) Samples(name string) []float64 { return s.taken[name] }

// Floor returns the smallest difference that is reported, as a fraction of 1.
func (s *Series) Floor() float64 {
	return stats.Floor(s.taken[s.plan.Base], s.taken[s.plan.Base+again])
}

// Rows returns the contenders' figures in the order of the contenders, each compared with the base.
func (s *Series) Rows() (rows []result.Row) {
	floor := s.Floor()
	for _, name := range s.order {
		if err := s.failed[name]; err != nil {
			rows = append(rows, result.Row{Tool: name, Error: err.Error()})
			continue
		}
		row := stats.Row(name, s.taken[name])
		if name != s.plan.Base {
			row.Ratio = stats.Compare(s.plan.Base, s.taken[name], s.taken[s.plan.Base], floor, s.plan.Words)
		}
		rows = append(rows, row)
	}
	return rows
}

// Notes returns how the samples were taken, and the noise.
func (s *Series) Notes() []string {
	rounds := len(s.taken[s.plan.Base])
	const how = "%d interleaved rounds; a contender that takes longer than %d ms sits some out, the next waits %d ms"
	notes := []string{fmt.Sprintf(how,
		rounds, slow/time.Millisecond, respite/time.Millisecond)}
	if a, b := s.taken[s.plan.Base], s.taken[s.plan.Base+again]; len(stats.Present(b)) > 0 {
		iv := stats.Ratio(b, a)
		notes = append(notes, fmt.Sprintf("%s against itself: %.3f (%.3f to %.3f); a difference below %.1f %% is called none",
			s.plan.Base, iv.Median, iv.Low, iv.High, 100*s.Floor()))
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
