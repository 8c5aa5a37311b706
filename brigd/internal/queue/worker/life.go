package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"brig/brigd/internal/queue/retry"
)

// life is how long a worker takes runs, and may end those that go on.
type life struct {
	pull    context.Context // ends when no more runs are taken
	stop    context.CancelFunc
	looping chan struct{} // closed when the loop has ended
	going   sync.WaitGroup
	killed  atomic.Bool // runs are cancelled because brigd ends: others shall run them
}

func newLife() *life {
	l := &life{looping: make(chan struct{})}
	l.pull, l.stop = context.WithCancel(context.Background())
	return l
}

// drain takes no more runs and waits until those that go on have ended, or ctx has.
func (l *life) drain(ctx context.Context) error {
	l.stop()
	done := make(chan struct{})
	go func() {
		<-l.looping
		l.going.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lasting returns a context for what must not be lost. It ends some time after the worker was stopped, but not before
// that much time has passed since the call: a run may end long after the stop, and its result is still to be stored.
func (l *life) lasting() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(l.pull, func() { time.AfterFunc(retry.Patience, cancel) })
	return ctx, func() { stop(); cancel() }
}
