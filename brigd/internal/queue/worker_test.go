package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// A run may end long after its worker was told to stop. There is still time to store its result.
func TestResultAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{}
		w.pull, w.stop = context.WithCancel(t.Context())
		early, end := w.lasting()
		defer end()
		w.stop()
		time.Sleep(time.Hour)
		ctx, end := w.lasting()
		defer end()
		time.Sleep(patience - time.Second)
		if early.Err() == nil || ctx.Err() != nil {
			t.Errorf("an hour after the stop: %v, and of a run that has ended then: %v", early.Err(), ctx.Err())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("a stopped worker tries for ever")
		}
	})
}

// A run that was delivered twice to a worker can be cancelled until both have ended.
func TestCancelOfTwoDeliveries(t *testing.T) {
	w := &Worker{Queue: &Queue{}, running: map[*delivery]context.CancelCauseFunc{}}
	var ended int
	for range 2 {
		w.running[&delivery{j: queued{ID: "run_3"}}] = func(error) { ended++ }
	}
	w.running[&delivery{j: queued{ID: "run_4"}}] = func(error) { t.Error("another run is cancelled") }
	w.cancelled(nats.NewMsg(cancelSubject + "run_3"))
	if ended != 2 {
		t.Errorf("%d of two are cancelled", ended)
	}
}

// A wake makes a lane worth a look. In a lane that is worth one anyway, no more of them are wanted.
func TestWake(t *testing.T) {
	l := lanes()[3]
	w := &Worker{hot: map[lane]bool{}, listens: map[lane]bool{l: true}, woken: make(chan struct{}, 1)}
	for _, listens := range []bool{true, false} {
		w.wake(l, &nats.Subscription{})
		if !w.hot[l] || w.listens[l] != listens || len(w.woken) != 1 {
			t.Errorf("it is worth a look: %v, the server tells of the next: %v, not %v", w.hot[l], w.listens[l], listens)
		}
	}
}
