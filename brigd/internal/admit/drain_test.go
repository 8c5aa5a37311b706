package admit

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Running: 1, Queue: 10})
		for range 3 {
			b.job(t.Context(), "a", 10*time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := b.g.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("drained: %v", err)
		}
		b.job(t.Context(), "b", time.Second)
		if b.errs[codeDraining] != 2 { // the third of a's, and b's
			t.Errorf("%v", b.errs)
		}
		b.wg.Go(func() {
			if err := b.g.Drain(t.Context()); err != nil || time.Since(b.zero) != 20*time.Second {
				t.Errorf("drained after %v: %v", time.Since(b.zero), err)
			}
		})
		b.end()
		if len(b.order) != 2 {
			t.Errorf("%v ran", b.order)
		}
	})
}

func TestCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		var refused []string
		b := newBench(t, Options{Running: 1, Queue: 1, Waited: func(d time.Duration) { waited = append(waited, d) },
			Refused: func(c string) { refused = append(refused, c) }})
		for range 3 {
			b.job(t.Context(), "a", time.Minute)
		}
		b.end()
		if !slices.Equal(waited, []time.Duration{0, time.Minute}) || !slices.Equal(refused, []string{codeQueueFull}) {
			t.Errorf("waited %v, refused %v", waited, refused)
		}
	})
}
