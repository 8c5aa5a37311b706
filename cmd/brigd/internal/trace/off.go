//go:build !otel

package trace

import (
	"context"
	"net/http"

	"brig/nsjail"
)

// Enabled reports whether this build can trace.
const Enabled = false

// Tracer does nothing in this build.
type Tracer struct{}

// New returns a Tracer.
func New(context.Context, Options) (*Tracer, error) { return &Tracer{}, nil }

// Handler returns next.
func (*Tracer) Handler(next http.Handler) http.Handler { return next }

// Gate returns next.
func (*Tracer) Gate(next Gate) Gate { return next }

// Wrap returns next.
func (*Tracer) Wrap(next nsjail.Executor) nsjail.Executor { return next }

// Close does nothing.
func (*Tracer) Close(context.Context) error { return nil }
