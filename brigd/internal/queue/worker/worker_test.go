package worker

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
)

// A run may end long after its worker was told to stop. There is still time to store its result.
func TestResultAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLife()
		early, end := l.lasting()
		defer end()
		l.stop()
		time.Sleep(time.Hour)
		ctx, end := l.lasting()
		defer end()
		time.Sleep(retry.Patience - time.Second)
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
	var g going
	var ended int
	var remove func()
	for range 2 {
		remove = g.add(&delivery{run: record.Run{ID: "run_3"}}, func(error) { ended++ })
	}
	g.add(&delivery{run: record.Run{ID: "run_4"}}, func(error) { t.Error("another run is cancelled") })
	if !g.cancel("run_3") || ended != 2 {
		t.Errorf("%d of two are cancelled", ended)
	}
	if remove(); !g.cancel("run_3") || ended != 3 || g.cancel("run_9") {
		t.Errorf("%d cancellations, one of the two has ended", ended)
	}
}

// A wake makes a lane worth a look. In a lane that is worth one anyway, no more of them are wanted.
func TestWake(t *testing.T) {
	l := lane.All()[3]
	e := ears{board: lane.NewBoard(1, 0), on: map[lane.Lane]bool{l: true}}
	e.board.Mark(l, false)
	for _, listens := range []bool{true, false} {
		if e.wake(l, &nats.Subscription{}); e.on[l] != listens {
			t.Errorf("the server tells of the next: %v", e.on[l])
		}
	}
}

// No run is taken while the machine is short of something, or for a while after a run that it had no room for.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why, looks := "", 0
		r := ready{look: func() string { looks++; return why }, log: slog.New(slog.DiscardHandler)}
		for _, step := range []struct {
			before func()
			ready  bool
			why    string
		}{
			{ready: true},
			{before: func() { why = "disk" }, ready: true}, // not looked at again yet
			{before: func() { time.Sleep(time.Second) }, why: "disk"},
			{before: func() { why = ""; time.Sleep(time.Second) }, ready: true},
			{before: r.rest, why: "this machine had no room for a jail"},
			{before: func() { time.Sleep(shortPause + 1) }, ready: true},
		} {
			if step.before != nil {
				step.before()
			}
			if ready := r.ask(); ready != step.ready || r.why() != step.why {
				t.Errorf("ready: %v, short of %q, want %v, %q", ready, r.why(), step.ready, step.why)
			}
		}
		if looks != 4 {
			t.Errorf("%d looks at the machine", looks)
		}
	})
}

// A worker that is drained waits for the runs that go on, as long as its caller does.
func TestDrain(t *testing.T) {
	l := newLife()
	close(l.looping)
	l.going.Add(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.drain(ctx); err == nil || l.pull.Err() == nil {
		t.Errorf("a run goes on: %v, and runs are taken: %v", err, l.pull.Err() == nil)
	}
	l.going.Done()
	if err := l.drain(t.Context()); err != nil {
		t.Error(err)
	}
}
