//go:build !otel

package trace

import (
	"context"
	"log/slog"
	"net/http"

	"brig/brigd/job"
)

// Tracer does nothing in this build.
type Tracer struct{}

// New returns a Tracer.
func New(context.Context, string, *slog.Logger) (*Tracer, error) { return &Tracer{}, nil }

// Request returns r.
func (*Tracer) Request(r *http.Request) (traced *http.Request, end func(status int)) {
	return r, func(int) {}
}

// Gate returns next.
func (*Tracer) Gate(next Gate) Gate { return next }

// Wrap returns next.
func (*Tracer) Wrap(next job.Executor) job.Executor { return next }

// Close does nothing.
func (*Tracer) Close(context.Context) error { return nil }
