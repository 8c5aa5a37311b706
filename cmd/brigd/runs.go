package main

import (
	"context"
	"sync"

	"brig/nsjail/engine"
	"brig/nsjail/sandbox"
)

// endable is an engine whose runs also end with a context of brigd's own: the requests' contexts, which end with their
// clients, go on, so that a run that brigd has cancelled is answered. It also notes which sandboxes there are.
type endable struct {
	*engine.Engine
	runs  context.Context
	areas *areas
}

// Run is the engine's.
func (e endable) Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(e.runs, func() { cancel(context.Cause(e.runs)) })
	defer stop()
	return e.Engine.Run(ctx, c, r, stream)
}

// CreateSandbox is the engine's.
func (e endable) CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo, error) {
	info, err := e.Engine.CreateSandbox(ctx, c, r)
	if err == nil {
		e.areas.add(info.ID)
	}
	return info, err
}

// areas are the ids of the sandboxes that exist.
type areas struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (a *areas) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[id] = true
}

// removed is for sandbox.StoreOptions.
func (a *areas) removed(b *sandbox.Sandbox) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ids, b.ID)
}

func (a *areas) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}
