package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
