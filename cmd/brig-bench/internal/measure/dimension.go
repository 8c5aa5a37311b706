package measure

import (
	"context"
	"errors"
	"os"
	"time"

	"brig/cmd/brig-bench/internal/peers"
	"brig/cmd/brig-bench/internal/result"
)

// Dimension is one measurement.
type Dimension struct {
	result.Table // without rows
	// run measures. An error is a harness that failed; a tool that failed has it in its row. When ctx ends it stops
	// what it has started and returns ctx's error.
	run   func(ctx context.Context, e *Env, t *result.Table) error
	apart bool // run wants a network namespace of its own, with the server in it, and Env.Relays alone
}

// Env is what a Dimension works with.
type Env struct {
	Quick    bool          // the whole run is to take about a minute
	Rounds   int           // as the user has asked for; 0 is the Dimension's own choice
	Brig     string        // the brig program
	Dir      string        // a private directory, removed at the end of the run
	Tools    []*peers.Tool // those that are present
	Relays   []*peers.Tool // present or not: a table names those that are absent
	Progress func(string)  // shows what is being done
}

// count returns the number of rounds: what the user asked for, or else one of the two.
func (e *Env) count(full, quick int) int {
	switch {
	case e.Rounds > 0:
		return e.Rounds
	case e.Quick:
		return quick
	}
	return full
}

// budget bounds the rounds, in seconds; there is no bound when the user has asked for a number of rounds.
func (e *Env) budget(full, quick int) time.Duration {
	switch {
	case e.Rounds > 0:
		return 0
	case e.Quick:
		return time.Duration(quick) * time.Second
	}
	return time.Duration(full) * time.Second
}

// scratch makes a directory for files of a tool or a job. Some are a jail's root, which every user may read.
func (e *Env) scratch() (string, error) {
	dir, err := os.MkdirTemp(e.Dir, "load-")
	return dir, errors.Join(err, os.Chmod(dir, 0o755))
}
