package main

import (
	"context"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/metrics"
)

// servedEngine is the engine as HTTP and MCP use it. A run is cancelled with its request's context or with runs. If
// runs cancelled it, the request is still answered. It counts runs, and detects the loss of the launcher.
type servedEngine struct {
	*engine.Engine
	runs     context.Context
	metrics  *metrics.Metrics
	launcher *launcherWatch
}

// Run runs a request, as engine.Engine does.
func (e servedEngine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(e.runs, func() { cancel(context.Cause(e.runs)) })
	defer stop()
	ctx, done := e.metrics.Request(ctx)
	a := e.Engine.Run(ctx, c, r, stream)
	if a.Status == "refused" {
		done(a.Error)
	}
	e.launcher.record(a)
	return a
}
