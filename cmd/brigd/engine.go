package main

import (
	"context"
	"sync"

	"brig/agent/engine"
	"brig/agent/workspace"
	"brig/cmd/brigd/internal/metrics"
)

// servedEngine is the engine as HTTP and MCP use it. A run is cancelled with its request's context or with runs. If
// runs cancelled it, the request is still answered. It counts runs and sandboxes, and detects the loss of the launcher.
type servedEngine struct {
	*engine.Engine
	runs      context.Context
	sandboxes *sandboxIDs
	metrics   *metrics.Metrics
	launcher  *launcherWatch
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

// CreateSandbox creates a sandbox, as engine.Engine does.
func (e servedEngine) CreateSandbox(ctx context.Context, c engine.Caller,
	r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	info, err := e.Engine.CreateSandbox(ctx, c, r)
	if err == nil {
		e.sandboxes.add(info.ID)
	}
	return info, err
}

// sandboxIDs is the set of ids of the existing sandboxes.
type sandboxIDs struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (a *sandboxIDs) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[id] = true
}

// removed is the callback of workspace.StoreOptions.
func (a *sandboxIDs) removed(b *workspace.Sandbox) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ids, b.ID)
}

func (a *sandboxIDs) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}
