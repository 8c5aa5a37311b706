package worker

import (
	"testing"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/memory"
	"brig/brigd/internal/queue/record"
	"brig/internal/test/must"
)

// Of two messages of a run that may be asked for again, one starts it. The other does if the first has left the queue
// without a result.
func TestOneMessageStarts(t *testing.T) {
	q := must.Get(memory.New())(t)
	messages := memory.Stream{Has: map[uint64]bool{7: true, 9: true}}
	c := claims{q.Keys, messages}
	for i, step := range []struct {
		message uint64
		before  func()
		starts  bool
	}{
		{message: 7, starts: true},
		{message: 9},
		{message: 7, starts: true}, // delivered again
		{message: 9, before: func() { delete(messages.Has, 7) }, starts: true},
		{message: 7, before: func() { messages.Has[7] = true }},
		{message: 9, before: func() {
			_, err := q.Results.Store(t.Context(), 0, "run_6", &record.Record{Result: &engine.Response{}})
			if err != nil || len(q.Large.Has) != 1 {
				t.Fatal(err)
			}
		}},
	} {
		if step.before != nil {
			step.before()
		}
		d := &delivery{number: step.message, run: record.Run{ID: "run_6", Tracked: true}}
		if starts, err := c.claim(t.Context(), d, &engine.Delivery{}); starts != step.starts || err != nil {
			t.Errorf("step %d, message %d: it starts the run: %v, %v", i, step.message, starts, err)
		}
	}
}
