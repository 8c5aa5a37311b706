// Package trace traces requests with OpenTelemetry: a span for the request, whose parent the client may name (W3C
// traceparent), with child spans for the wait in the queue and for the run, which has the phases of the jail's start as
// events.
//
// The build tag otel enables it. Without the tag the functions do nothing and the libraries are not linked. Spans are
// exported by OTLP over HTTP according to the standard variables (OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS,
// OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and so on), if one names an endpoint. No span holds code, output or a secret.
package trace

import "context"

// Gate admits runs: admit.Gate.
type Gate interface {
	Ask(caller string) error
	Enter(ctx context.Context, caller string) (release func(), err error)
}
