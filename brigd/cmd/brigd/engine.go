package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"brig/brigd/engine"
	"brig/brigd/internal/metrics"
)

// localEngine is the engine as HTTP and MCP use it. A run is cancelled with its request's context or with runs. If
// runs cancelled it, the request is still answered. It counts runs, and detects the loss of the launcher.
type localEngine struct {
	*engine.Engine
	runs     context.Context
	metrics  *metrics.Metrics
	launcher *launcherWatch
}

// Run runs a request, as engine.Engine does.
func (e localEngine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	ctx, done := e.metrics.Request(ctx)
	a := e.Engine.Run(ctx, c, r, stream)
	if a.Status == "refused" {
		done(a.Error)
	}
	e.launcher.record(a)
	return a
}

// bounded returns a context that also ends with runs.
func (e localEngine) bounded(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.runs, func() { cancel(context.Cause(e.runs)) })
	return ctx, func() { stop(); cancel(nil) }
}

// launcherFailures is how many consecutive runs may fail for lack of the launcher; brigd then exits.
const launcherFailures = 3

// launcherWatch detects that the launcher is gone, for example killed by the OOM killer. Only a restart of brigd
// replaces it.
type launcherWatch struct {
	mu     sync.Mutex
	failed int
	gone   chan error // the first reason; it has room for one
}

var errLauncherGone = errors.New("no jail can be made any more")

func (w *launcherWatch) record(a *engine.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case a.Status == "refused":
		return // no jail was requested
	case a.Error == nil || a.Error.Rule != "launcher":
		w.failed = 0
		return
	}
	if w.failed++; w.failed == launcherFailures {
		err := fmt.Errorf("%w (%s); start brigd again, and look for an out-of-memory kill in the kernel log",
			errLauncherGone, a.Error.Message)
		select {
		case w.gone <- err:
		default: // the first reason is not read yet
		}
	}
}
