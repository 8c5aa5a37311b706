package nsjail

import (
	"context"
	"errors"
	"io"

	"brig/nsjail/internal/relay"
)

// source is a way to start a jail.
type source interface {
	// take makes an attempt a running jail. It returns nil and nil if it has none for it: the next source is asked.
	// With an error, it has released what it has made, but not what the attempt holds.
	take(ctx context.Context, a *attempt) (*running, error)
}

// begin makes an attempt a running jail: it asks the sources, one after the other. The last one has a jail for it. log
// is Cmd.NetworkLog.
func begin(ctx context.Context, a *attempt, log io.Writer, sources ...source) (r *running, err error) {
	a.spec.Egress = a.spec.Egress.Clone() // the caller may change its own
	a.held.relay, err = relay.Open(a.spec, log)
	for i := 0; err == nil && r == nil; i++ {
		r, err = sources[i].take(ctx, a)
	}
	if err != nil {
		return nil, errors.Join(err, a.held.release())
	}
	return r, nil
}
