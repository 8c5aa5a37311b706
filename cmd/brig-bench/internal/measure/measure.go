// Package measure takes the measurements. Each is a Dimension: one question, one table.
package measure

import (
	"context"
	"errors"

	"brig/cmd/brig-bench/internal/result"
)

// Dimensions lists them in the order in which they run and are shown.
func Dimensions() (all []Dimension) {
	for _, list := range [][]Dimension{starts(), api(), living(), inside(), network()} {
		all = append(all, list...)
	}
	return all
}

// Run measures.
func (d Dimension) Run(ctx context.Context, e *Env) (result.Table, error) {
	t := d.Table
	if err := ctx.Err(); err != nil {
		return t, err
	}
	run := d.run
	if d.apart {
		run = elsewhere
	}
	err := run(ctx, e, &t)
	return t, errors.Join(err, ctx.Err())
}
