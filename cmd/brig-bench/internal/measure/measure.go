// Package measure takes the measurements. Each is a Dimension: one question, one table.
package measure

import (
	"context"
	"slices"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
	"brig/nsjail"
)

// Dimension is one thing that is measured.
type Dimension struct {
	ID    string // a word, for --only
	Title string
	// Run measures. An error is a harness that failed; a tool that failed has it in its row. When ctx ends it
	// stops what it has started and returns ctx's error.
	Run func(ctx context.Context, e *Env) (result.Table, error)
}

// Env is what a Dimension works with.
type Env struct {
	Quick    bool                             // the whole run is to take about a minute: some five seconds for each Dimension
	Rounds   int                              // what the user has asked for; 0 is the Dimension's own choice: see Count
	Brig     string                           // the brig program
	Dir      string                           // a private directory, removed at the end of the run
	Tools    []*peers.Tool                    // those that are present
	Relays   []*peers.Relay                   // present or not: a table says who is absent
	Progress func(format string, args ...any) // says what is being done, in a line that the next one replaces
	// Runner makes Runners; the caller closes them.
	Runner func(nsjail.RunnerOptions) (*nsjail.Runner, error)
	// Patience is how long all jails of a tool may take to start; 0 is 15 seconds, and one for a quick run.
	Patience time.Duration
}

// Count is the number of rounds: what the user asked for, or else one of the two.
func (e *Env) Count(full, quick int) int {
	switch {
	case e.Rounds > 0:
		return e.Rounds
	case e.Quick:
		return quick
	}
	return full
}

// Dimensions lists them in the order in which they run and are shown.
func Dimensions() []Dimension {
	starts := []Dimension{latency(), latencyIdle(), latencyLimits(), throughput()}
	return slices.Concat(starts, inner(), network(), []Dimension{api()})
}
