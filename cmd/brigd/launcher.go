package main

import (
	"errors"
	"fmt"
	"sync"

	"brig/agent/engine"
)

// launcherFailures is the number of runs that fail in a row for want of the launcher before brigd ends.
const launcherFailures = 3

// launcherWatch notices that the launcher is gone, as when it was killed for want of memory. Only a new start of brigd
// brings it back.
type launcherWatch struct {
	mu     sync.Mutex
	failed int
	gone   chan error // the reason
}

var errLauncherGone = errors.New("no jail can be made any more")

func newLauncherWatch() *launcherWatch { return &launcherWatch{gone: make(chan error, 1)} }

func (w *launcherWatch) record(a *engine.Response) {
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
		w.report(fmt.Errorf("%w (%s); start brigd again, and look for an out-of-memory kill in the kernel log",
			errLauncherGone, a.Error.Message))
	}
}

// report sends the first reason.
func (w *launcherWatch) report(err error) {
	select {
	case w.gone <- err:
	default:
	}
}
