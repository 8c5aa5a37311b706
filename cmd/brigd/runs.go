package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"brig/agent/engine"
	"brig/agent/workspace"
	"brig/cmd/brigd/internal/metrics"
)

// endable is an engine whose runs also end with a context of brigd's own: the requests' contexts, which end with their
// clients, go on, so that a run that brigd has cancelled is answered. It also notes which sandboxes there are.
type endable struct {
	*engine.Engine
	runs     context.Context
	areas    *areas
	metrics  *metrics.Metrics
	launcher *launcherWatch
}

// Run is the engine's.
func (e endable) Run(ctx context.Context, c engine.Caller, r *engine.Request,
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
	e.launcher.see(a)
	return a
}

// CreateSandbox is the engine's.
func (e endable) CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	info, err := e.Engine.CreateSandbox(ctx, c, r)
	if err == nil {
		e.areas.add(info.ID)
	}
	return info, err
}

// launcherFailures is how many runs, one after the other, fail for want of the launcher before it is given up.
const launcherFailures = 3

// launcherWatch notices that the launcher, the process that makes jails, is gone: killed for want of memory, say.
// Nothing brings it back but a new start.
type launcherWatch struct {
	mu     sync.Mutex
	failed int
	gone   chan error // has the reason
}

var errLauncherGone = errors.New("no jail can be made any more")

func newLauncherWatch() *launcherWatch { return &launcherWatch{gone: make(chan error, 1)} }

func (w *launcherWatch) see(a *engine.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case a.Status == "refused":
		return // nothing was to be made
	case a.Error == nil || a.Error.Rule != "launcher":
		w.failed = 0
		return
	}
	if w.failed++; w.failed == launcherFailures {
		w.say(fmt.Errorf("%w (%s); start brigd again, and look for an out-of-memory kill in the kernel log",
			errLauncherGone, a.Error.Message))
	}
}

// say leaves the reason where it is looked for, unless there is one.
func (w *launcherWatch) say(err error) {
	select {
	case w.gone <- err:
	default:
	}
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

// removed is for workspace.StoreOptions.
func (a *areas) removed(b *workspace.Sandbox) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ids, b.ID)
}

func (a *areas) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids)
}
