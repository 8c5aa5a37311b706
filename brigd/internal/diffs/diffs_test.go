package diffs

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"brig/brigd/internal/admit"
	"brig/brigd/job"
)

// TestDesk: one diff is made at a time, one more of each caller waits, and the next is refused with when to ask again.
func TestDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New()
		making, most, made := 0, 0, 0
		enter := func(caller string) {
			go func() {
				leave, err := d.Enter(t.Context(), caller)
				if err != nil {
					t.Error(caller, err)
					return
				}
				making++
				most, made = max(most, making), made+1
				time.Sleep(time.Second) // of the bubble's clock
				making--
				leave()
			}()
		}
		leave, err := d.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		enter("a")
		enter("b")
		enter("c")
		synctest.Wait()
		_, err = d.Enter(t.Context(), "a")
		var no *job.Refusal
		var rejected *admit.Rejected
		if !errors.As(err, &no) || !errors.As(err, &rejected) || no.Code != "queue_full" || no.Layer != "queue" ||
			len(no.NextSteps) == 0 || rejected.RetrySeconds() < 1 {
			t.Errorf("a third diff of one caller: %+v", err)
		}
		gone, end := context.WithCancelCause(t.Context())
		end(io.ErrClosedPipe)
		if _, err := d.Enter(gone, "d"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("of a caller who has gone: %v", err)
		}
		if made != 0 {
			t.Errorf("%d diffs are made beside one", made)
		}
		leave()
		time.Sleep(time.Minute)
		if most != 1 || made != 3 {
			t.Errorf("%d diffs were made, %d at once", made, most)
		}
	})
}

// TestLimitedEnds: nothing is kept for a caller who has gone.
func TestLimitedEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	l := &limited{ctx: ctx, most: 10}
	_, before := l.Write([]byte("a"))
	end()
	if _, err := l.Write([]byte("b")); before != nil || err != context.Canceled || string(l.text) != "a" {
		t.Errorf("%v, %v, %q", before, err, l.text)
	}
}
