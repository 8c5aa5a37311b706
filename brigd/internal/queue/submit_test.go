package queue

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// asking returns a Front on a queue in memory, which counts the runs of tokens.
func asking(t *testing.T) (f *Front, files *objects, sent *published, counted *int) {
	t.Helper()
	q, _, files, sent := memory(t)
	counted = new(int)
	return &Front{Queue: q, inbox: "here.", waiters: map[string][]*waiter{}, asking: turns{busy: map[string]chan struct{}{}},
		count:   func(engine.Caller) *job.Refusal { *counted++; return nil },
		counted: func(c engine.Caller) bool { return c.Agent == "token" }}, files, sent, counted
}

// A request that the queue could not take may be sent again: the run then starts, and is counted once.
func TestSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, sent, counted := asking(t)
		sent.broken = errors.New("the disk of the server is full")
		c, r := engine.Caller{Agent: "token"}, &engine.Request{Cmd: []string{"true"}, Key: "k"}
		ask := func() string {
			id, a := f.Submit(t.Context(), c, r)
			if a != nil {
				return a.Error.Code
			}
			return id
		}
		if code := ask(); code != "queue_unavailable" {
			t.Fatal(code)
		}
		sent.broken = nil
		time.Sleep(5 * time.Minute) // whatever was to be cleaned up is
		synctest.Wait()
		id := ask()
		if again := ask(); again != id || len(sent.list) != 1 || *counted != 1 {
			t.Errorf("%s and %s, put into the queue %d times, counted %d times", id, again, len(sent.list), *counted)
		}
		if r, err := f.find(t.Context(), "r."+id); r != nil || err != nil {
			t.Errorf("it has a result: %v %v", r, err)
		}
	})
}

// A run that is refused for want of room leaves nothing, and one that is sent again later is not counted again.
func TestRefusedLeavesNothing(t *testing.T) {
	f, files, sent, counted := asking(t)
	sent.broken = &jetstream.APIError{Description: "maximum messages per subject exceeded"}
	for i, c := range []engine.Caller{{Agent: "bot"}, {Agent: "token"}} {
		for _, r := range []*engine.Request{{Code: "x"}, {Code: "x", Key: "k"}} { // no body fits into a message here
			a := f.submit(t.Context(), c, r, &queued{ID: runID(c, r), Tracked: true})
			if a == nil || a.Error.Code != "queue_full" || len(files.has) > 0 {
				t.Errorf("%v %+v: %v, %d objects", c, r, a, len(files.has))
			}
		}
		if left := len(f.results.(*bucket).has); left != i { // of the token's, which is counted
			t.Errorf("%d records are left", left)
		}
	}
	before := *counted
	sent.broken = nil
	if id, a := f.Submit(t.Context(), engine.Caller{Agent: "token"}, &engine.Request{Code: "x", Key: "k"}); a != nil || *counted != before {
		t.Errorf("%s %v: counted %d times more", id, a, *counted-before)
	}
}

// Another brigd that is putting the same run into the queue has its time, and no more.
func TestAnotherFrontGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, sent, _ := asking(t)
		c, r := engine.Caller{}, &engine.Request{Cmd: []string{"true"}, Key: "k"}
		sent.broken = errors.New("gone")
		if _, a := f.Submit(t.Context(), c, r); a == nil {
			t.Fatal("it was taken")
		}
		sent.broken = nil
		f.inbox = "there."
		if _, a := f.Submit(t.Context(), c, r); a == nil || a.Error.Code != "queue_unavailable" || len(sent.list) > 0 {
			t.Errorf("%v, %d messages", a, len(sent.list))
		}
		f.rates.offset = claimTime // the record is old
		if _, a := f.Submit(t.Context(), c, r); a != nil || len(sent.list) != 1 {
			t.Errorf("%v, %d messages", a, len(sent.list))
		}
	})
}
