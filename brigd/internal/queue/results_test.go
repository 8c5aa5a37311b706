package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/engine"
)

// A second result does not count, and its object does not stay, also when the first was forgotten.
func TestSecondResult(t *testing.T) {
	q, large, _, _ := memory(t)
	ctx, output := t.Context(), strings.Repeat("x", 9<<20)
	result := &record{owner: owner{Agent: "bot"}, Result: &engine.Response{ID: "run_1", Stdout: output}}
	if revision, err := q.store(ctx, time.Second, "run_1", result); err != nil || revision == 0 || len(large.has) != 1 {
		t.Fatalf("%v %v %d objects", revision, err, len(large.has))
	}
	if r, err := q.find(ctx, "r.run_1"); err != nil || r.Result.Stdout != output {
		t.Fatalf("the result that was stored: %v", err)
	}
	if _, err := q.results.Put(ctx, "r.run_1", forgotten); err != nil {
		t.Fatal(err)
	}
	if revision, err := q.store(ctx, time.Second, "run_1", result); err != nil || revision != 0 || len(large.has) != 1 {
		t.Errorf("a second result: its revision is %v, %v, %d objects", revision, err, len(large.has))
	}
	f := &Front{Queue: q}
	if s, err := f.Lookup(ctx, engine.Caller{}, "run_1"); s != nil || err != nil {
		t.Errorf("it is found: %v %v", s, err)
	}
}

// A run whose body cannot be read is delivered again, but not for ever. It is given up under its own id.
func TestUnreadableIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, files, sent := memory(t)
		files.broken = errors.New("the disk of the object store is broken")
		w := &Worker{Queue: q, pull: t.Context(), running: map[*delivery]context.CancelCauseFunc{}}
		for _, tries := range []string{"1", "3", "4"} {
			m := nats.NewMsg("brig.runs.normal.0.x")
			m.Sub, m.Reply = &nats.Subscription{}, "$JS.ACK.BRIG_RUNS.normal-0."+tries+".7.7.1700000000000000000.0"
			m.Header.Set(objectHeader, "job.run_2")
			w.handle(m, func() {})
			if given := len(sent.list) > 0; given != (tries == "4") {
				t.Fatalf("delivery %s: given up is %v", tries, given)
			}
		}
		if m := sent.list[0]; m.Subject != deadSubject+"run_2" || !strings.Contains(m.Header.Get(reasonHeader), "broken") {
			t.Errorf("it is given up as %s: %v", m.Subject, m.Header)
		}
	})
}

// A large object has more time than a small message.
func TestLargeHasMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := trying(t.Context(), patience, 100<<20, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(90 * time.Second): // slower than a MiB a second
				return nil
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A run whose caller has the result leaves a record if its acknowledgement is not confirmed: it must not start again.
func TestHandedWithoutConfirmation(t *testing.T) {
	q, _, _, _ := memory(t)
	f := &Front{Queue: q, waiters: map[string][]*waiter{}}
	q.front.Store(f)
	in := f.wait("run_5").in
	d := &delivery{Worker: &Worker{Queue: q, pull: t.Context()}, m: nats.NewMsg("x"), j: queued{ID: "run_5"}}
	d.finish(&engine.Response{ID: "run_5"})
	if len(in) != 1 || (<-in).result == nil {
		t.Error("the caller does not have the result")
	}
	if r, err := q.find(t.Context(), "r.run_5"); err != nil || r == nil || r.Result != nil {
		t.Errorf("the record is %v, %v", r, err)
	}
}
