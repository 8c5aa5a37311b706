package mcp

import (
	"context"
	"reflect"
	"sync"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// living is the box of a session's sandbox, once a process has been started, and how far the session has read what its
// processes write.
type living struct {
	mu      sync.Mutex // held while the box is made
	sandbox string     // that has the box
	asked   engine.BoxRequest
	read    map[string]int64 // the offset behind what was read, by the id of the process
}

// enliven returns the id of the session's sandbox, which lives from now on.
func (c *call) enliven(ctx context.Context, ask *engine.BoxRequest) (string, *job.Refusal) {
	l := &c.living
	l.mu.Lock()
	defer l.mu.Unlock()
	id, no := c.box(ctx)
	switch {
	case no != nil:
		return "", no
	case id != l.sandbox: // none yet, or that one is gone
	case reflect.DeepEqual(*ask, engine.BoxRequest{}) || reflect.DeepEqual(*ask, l.asked):
		return id, nil
	default:
		return "", refuse("request", "of_the_box", c.tool.def.Name,
			"all processes of the session share one jail, which has been made: network and image are its",
			"Leave them out.")
	}
	if _, err := c.Engine.LiveSandbox(ctx, c.who(), id, ask); err != nil {
		return "", c.lost(id, asRefusal(err))
	}
	l.sandbox, l.asked, l.read = id, *ask, map[string]int64{}
	return id, nil
}

// where returns the id of the sandbox in which the session has started processes, or "".
func (l *living) where() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sandbox
}

// ended returns a refusal for a model: if the box has ended, the next process begins in a new one.
func (l *living) ended(sandbox string, no *job.Refusal) *job.Refusal {
	if no.Code != "box_ended" && no.Code != "not_living" {
		return no
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sandbox == sandbox {
		l.sandbox = ""
	}
	again := *no
	again.NextSteps = []string{"Call start_process: it begins in a new jail, with the files as they are."}
	return &again
}

// from returns the offset behind what the session has read of a process; below 0 is the beginning.
func (l *living) from(process string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.read[process]; ok {
		return at
	}
	return -1
}

// has records up to where the session has read.
func (l *living) has(process string, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read != nil {
		l.read[process] = next
	}
}
