package main

import (
	"context"

	"brig/nsjail/engine"
)

// endable is an engine whose runs also end with a context of brigd's own: the requests' contexts, which end with their
// clients, go on, so that a run that brigd has cancelled is answered.
type endable struct {
	*engine.Engine
	runs context.Context
}

// Run is the engine's.
func (e endable) Run(ctx context.Context, c engine.Caller, r *engine.Request, stream func(engine.Event)) *engine.Response {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(e.runs, func() { cancel(context.Cause(e.runs)) })
	defer stop()
	return e.Engine.Run(ctx, c, r, stream)
}
