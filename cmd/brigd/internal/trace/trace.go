// Package trace follows a request through brigd for OpenTelemetry: a span for the request, whose parent the client may
// name (W3C traceparent), below it one for the wait in the queue and one for the run, with the parts of the jail's
// start as events.
//
// The build tag otel brings it in; a brigd without the tag has the same calls, which do nothing, and none of the
// libraries. Spans go by OTLP over HTTP to where the standard variables say (OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS,
// OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and so on), and nowhere while none names an endpoint. No span holds code,
// output or a secret.
package trace

import (
	"context"
	"log/slog"
)

// Options are what a Tracer is made of.
type Options struct {
	// Version is brigd's.
	Version string
	// Logger gets the exporter's messages; nil for none.
	Logger *slog.Logger
}

// Gate is what lets runs in: admit.Gate.
type Gate interface {
	Ask(caller string) error
	Enter(ctx context.Context, caller string) (release func(), err error)
}
