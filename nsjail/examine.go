package nsjail

import (
	"context"
	"errors"
	"time"

	"brig/internal/words"
	"brig/nsjail/doctor"
	"brig/nsjail/spec"
)

// Examine reads the facts for doctor.Diagnose, and tries to make jails. It takes a few seconds at most.
func Examine(ctx context.Context) *doctor.Facts { return doctor.Examine(ctx, tryJail) }

// tryJail runs one jail in a new Runner and returns what happened.
func tryJail(ctx context.Context, s spec.Spec) doctor.Trial {
	t := doctor.Trial{Tried: true}
	runner, err := NewRunner()
	if err != nil {
		t.Err = err
		return t
	}
	start := time.Now()
	c := runner.CommandSpec(ctx, s)
	r, err := c.Run()
	t.Millis = time.Since(start).Milliseconds()
	t.Enforced = c.enforced()
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		t.Err = err
	case r.Status != StatusOK:
		t.Err = &spec.Error{Fault: spec.FaultHost, Op: "payload", Detail: words.Plain(doctor.TrialCommand +
			" ended with status " +
			string(r.Status) + " " + r.Signal), Remedy: "see whether it runs outside of a jail"}
	}
	t.Err = errors.Join(t.Err, runner.Close())
	return t
}
