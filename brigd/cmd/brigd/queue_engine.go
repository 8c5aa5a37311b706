package main

import (
	"context"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/submit"
	"brig/brigd/internal/remote"
)

// queuedEngine is the engine of a brigd whose runs go through the queue.
type queuedEngine struct {
	*remote.Engine
	queue  *submit.Front
	own    localEngine
	record *engine.Recorder
}

// Run puts a run into the queue and waits for its result. A run in a sandbox, or with streamed input, is sent directly
// to a worker, since another worker could not repeat it.
func (e queuedEngine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	ctx, cancel := e.own.bounded(ctx)
	defer cancel()
	if r.Sandbox != "" || r.StdinReader != nil {
		return e.send(ctx, c, r, stream)
	}
	return e.queue.Run(ctx, c, r, stream)
}

// send sends a run to a worker, and records that.
func (e queuedEngine) send(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	r.ID = engine.NewID("run")
	l, by := e.record, engine.SenderOf(c, r)
	if no := l.Sent(by, r); no != nil {
		return &engine.Response{ID: r.ID, Status: "refused", ExitCode: -1, Error: no}
	}
	a := e.Engine.Run(ctx, c, r, stream)
	if a.Queue == nil || a.Queue.Worker != e.queue.Name() {
		l.Answered(by, r, a)
	}
	return a
}
