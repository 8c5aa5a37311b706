package submit

import (
	"context"
	"sync"
)

// turns lets one at a time of those who name the same thing go on.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the turn ends
}

func newTurns() turns { return turns{busy: map[string]chan struct{}{}} }

// take waits for the turn of a name. The error is the cause of ctx.
func (t *turns) take(ctx context.Context, name string) (end func(), err error) {
	for {
		t.mu.Lock()
		before := t.busy[name]
		if before == nil {
			mine := make(chan struct{})
			t.busy[name] = mine
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.busy, name)
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
