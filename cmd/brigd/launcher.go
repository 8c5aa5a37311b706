package main

import (
	"errors"
	"fmt"
	"sync"

	"brig/agent/engine"
)

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
