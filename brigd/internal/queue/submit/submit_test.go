package submit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/memory"
	"brig/brigd/internal/queue/record"
	"brig/brigd/job"
	"brig/internal/test/must"
)

// asking returns a Front on a queue in memory, which counts the runs of tokens.
func asking(t *testing.T) (f *Front, m *memory.Queue, counted *int) {
	t.Helper()
	m, counted = must.Get(memory.New())(t), new(int)
	return newFront(m.Queue, ledger{func(engine.Caller) *job.Refusal { *counted++; return nil },
		func(c engine.Caller) bool { return c.Agent == "token" }}, "here."), m, counted
}

// A request that the queue could not take may be sent again: the run then starts, and is counted once.
func TestSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m, counted := asking(t)
		sent := m.Sent
		sent.Broken = errors.New("the disk of the server is full")
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
		sent.Broken = nil
		time.Sleep(5 * time.Minute) // whatever was to be cleaned up is
		synctest.Wait()
		id := ask()
		if again := ask(); again != id || len(sent.List) != 1 || *counted != 1 {
			t.Errorf("%s and %s, put into the queue %d times, counted %d times", id, again, len(sent.List), *counted)
		}
		if r, err := f.q.Results.Find(t.Context(), "r."+id); r != nil || err != nil {
			t.Errorf("it has a result: %v %v", r, err)
		}
	})
}

// A run that is refused for want of room leaves nothing, and one that is sent again later is not counted again.
func TestRefusedLeavesNothing(t *testing.T) {
	f, m, counted := asking(t)
	sent, files := m.Sent, m.Files
	sent.Broken = &jetstream.APIError{Description: "maximum messages per subject exceeded"}
	for i, c := range []engine.Caller{{Agent: "bot"}, {Agent: "token"}} {
		for _, r := range []*engine.Request{{Code: "x"}, {Code: "x", Key: "k"}} { // no body fits into a message here
			a := f.submit(t.Context(), c, r, &record.Run{ID: runID(c, r), Tracked: true})
			if a == nil || a.Error.Code != "queue_full" || len(files.Has) > 0 {
				t.Errorf("%v %+v: %v, %d objects", c, r, a, len(files.Has))
			}
		}
		if left := len(m.Records.Has); left != i { // of the token's, which is counted
			t.Errorf("%d records are left", left)
		}
	}
	before := *counted
	sent.Broken = nil
	if id, a := f.Submit(t.Context(), engine.Caller{Agent: "token"}, &engine.Request{Code: "x", Key: "k"}); a != nil || *counted != before {
		t.Errorf("%s %v: counted %d times more", id, a, *counted-before)
	}
}

// Another brigd that is putting the same run into the queue has its time, and no more.
func TestAnotherFrontGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := asking(t)
		sent := m.Sent
		c, r := engine.Caller{}, &engine.Request{Cmd: []string{"true"}, Key: "k"}
		sent.Broken = errors.New("gone")
		if _, a := f.Submit(t.Context(), c, r); a == nil {
			t.Fatal("it was taken")
		}
		sent.Broken = nil
		f.inbox = "there."
		if _, a := f.Submit(t.Context(), c, r); a == nil || a.Error.Code != "queue_unavailable" || len(sent.List) > 0 {
			t.Errorf("%v, %d messages", a, len(sent.List))
		}
		f.q.Gauge.Sample(t.Context(), clocked{}) // the record is old
		if _, a := f.Submit(t.Context(), c, r); a != nil || len(sent.List) != 1 {
			t.Errorf("%v, %d messages", a, len(sent.List))
		}
	})
}

// clocked is the stream of a server whose clock is off.
type clocked struct{ jetstream.Stream }

func (clocked) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return &jetstream.StreamInfo{TimeStamp: time.Now().Add(claimTime)}, nil
}

// A second result does not count, and its object does not stay, also when the first was forgotten.
func TestSecondResult(t *testing.T) {
	f, m, _ := asking(t)
	q, large := m.Queue, m.Large
	ctx, output := t.Context(), strings.Repeat("x", 9<<20)
	result := &record.Record{Owner: record.Owner{Agent: "bot"}, Result: &engine.Response{ID: "run_1", Stdout: output}}
	if revision, err := q.Results.Store(ctx, time.Second, "run_1", result); err != nil || revision == 0 || len(large.Has) != 1 {
		t.Fatalf("%v %v %d objects", revision, err, len(large.Has))
	}
	if r, err := q.Results.Find(ctx, "r.run_1"); err != nil || r.Result.Stdout != output {
		t.Fatalf("the result that was stored: %v", err)
	}
	if _, err := m.Records.Put(ctx, "r.run_1", []byte(`{"dropped":true}`)); err != nil {
		t.Fatal(err)
	}
	if revision, err := q.Results.Store(ctx, time.Second, "run_1", result); err != nil || revision != 0 || len(large.Has) != 1 {
		t.Errorf("a second result: its revision is %v, %v, %d objects", revision, err, len(large.Has))
	}
	if s, err := f.Lookup(ctx, engine.Caller{}, "run_1"); s != nil || err != nil {
		t.Errorf("it is found: %v %v", s, err)
	}
}
