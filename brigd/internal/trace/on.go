//go:build otel

package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"brig/brigd/job"
	"brig/nsjail"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracer creates spans and exports them in the background.
type Tracer struct {
	tracer   trace.Tracer
	parent   propagation.TraceContext
	provider *sdk.TracerProvider // nil if spans are not exported
}

// New returns a Tracer for a version of brigd that exports to the address in the standard variables. log receives the
// exporter's messages.
func New(ctx context.Context, version string, log *slog.Logger) (*Tracer, error) {
	if !wanted() {
		return &Tracer{tracer: noop.NewTracerProvider().Tracer("brigd")}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w; correct the OTEL_EXPORTER_OTLP_* variables", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces are not delivered", slog.String("error", err.Error()))
	}))
	return newTracer(ctx, version, sdk.WithBatcher(exporter))
}

func newTracer(ctx context.Context, version string, more ...sdk.TracerProviderOption) (*Tracer, error) {
	r, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "brigd"),
		attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w; correct OTEL_RESOURCE_ATTRIBUTES", err)
	}
	p := sdk.NewTracerProvider(append([]sdk.TracerProviderOption{sdk.WithResource(r)}, more...)...)
	return &Tracer{tracer: p.Tracer("brigd", trace.WithInstrumentationVersion(version)), provider: p}, nil
}

// wanted reports whether the standard variables name an endpoint.
func wanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Close exports the remaining spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Request starts the span of a request. end ends it with the status of the answer.
func (t *Tracer) Request(r *http.Request) (traced *http.Request, end func(status int)) {
	ctx := t.parent.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, "HTTP "+method(r.Method), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method(r.Method)),
			attribute.String("url.path", clip(r.URL.Path))))
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}

// Gate returns a Gate that creates a span for each wait.
func (t *Tracer) Gate(next Gate) Gate { return tracedGate{t, next} }

type tracedGate struct {
	*Tracer
	next Gate
}

// Ask calls the gate's Ask, without a span.
func (g tracedGate) Ask(caller string) error { return g.next.Ask(caller) }

// Enter calls the gate's Enter in a span.
func (g tracedGate) Enter(ctx context.Context, caller string) (func(), error) {
	_, span := g.tracer.Start(ctx, "queue")
	defer span.End()
	release, err := g.next.Enter(ctx, caller)
	g.failed(span, err)
	return release, err
}

// Wrap returns an Executor that creates a span for each run.
func (t *Tracer) Wrap(next job.Executor) job.Executor { return traced{t, next} }

type traced struct {
	*Tracer
	next job.Executor
}

// Execute calls next in a span.
func (t traced) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	start := time.Now()
	ctx, span := t.tracer.Start(ctx, "run", trace.WithTimestamp(start),
		trace.WithAttributes(attribute.String("brig.run.id", clip(j.ID)),
			attribute.String("brig.agent", clip(j.Agent)), attribute.String("brig.token.id", clip(j.Token)),
			attribute.String("brig.sandbox", clip(j.Sandbox)),
			attribute.String("brig.language", clip(j.Language))))
	defer span.End()
	r, err := t.next.Execute(ctx, j)
	t.failed(span, err)
	if r == nil {
		return r, err
	}
	span.SetAttributes(attribute.String("brig.status", string(r.Status)), attribute.Int("brig.exit_code", r.ExitCode),
		attribute.StringSlice("brig.limits_hit", r.LimitsHit))
	at := start
	for _, p := range []struct {
		name string
		us   int64
	}{{"look", r.Phases.Look}, {"resolve", r.Phases.Resolve}, {"prepare", r.Phases.Prepare}, {"spawn", r.Phases.Spawn},
		{"exec", r.Phases.Exec},
		{"run", r.Phases.Run}, {"end", r.Phases.End}} {
		at = at.Add(time.Duration(max(p.us, 0)) * time.Microsecond)
		span.AddEvent(p.name+" done", trace.WithTimestamp(at))
	}
	return r, err
}

// failed records an error. A refusal is recorded by its code, since its sentence may quote the payload.
func (t *Tracer) failed(span trace.Span, err error) {
	var no *job.Refusal
	switch {
	case err == nil:
	case errors.As(err, &no):
		span.SetAttributes(attribute.String("brig.refused.layer", clip(no.Layer)),
			attribute.String("brig.refused.code", clip(no.Code)))
	case errors.Is(err, context.Canceled):
		span.SetStatus(codes.Error, "cancelled")
	default:
		span.SetStatus(codes.Error, clip(err.Error()))
	}
}

// method replaces methods invented by a client, for use in a span's name.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return m
	}
	return "_OTHER"
}

// clip shortens foreign text.
func clip(s string) string {
	const most = 256
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
