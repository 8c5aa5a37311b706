package queue

import (
	"testing"

	"brig/brigd/engine"
)

// Of two messages of a run that may be asked for again, one starts it. The other does if the first has left the queue
// without a result.
func TestOneMessageStarts(t *testing.T) {
	q, large, _, _ := memory(t)
	messages := stream{has: map[uint64]bool{7: true, 9: true}}
	q.runs = messages
	for i, step := range []struct {
		message uint64
		before  func()
		starts  bool
	}{
		{message: 7, starts: true},
		{message: 9},
		{message: 7, starts: true}, // delivered again
		{message: 9, before: func() { delete(messages.has, 7) }, starts: true},
		{message: 7, before: func() { messages.has[7] = true }},
		{message: 9, before: func() {
			if _, err := q.store(t.Context(), 0, "run_6", &record{Result: &engine.Response{}}); err != nil || len(large.has) != 1 {
				t.Fatal(err)
			}
		}},
	} {
		if step.before != nil {
			step.before()
		}
		d := &delivery{Worker: &Worker{Queue: q}, number: step.message, j: queued{ID: "run_6", Tracked: true}}
		if starts, err := d.claim(t.Context(), &engine.Delivery{}); starts != step.starts || err != nil {
			t.Errorf("step %d, message %d: it starts the run: %v, %v", i, step.message, starts, err)
		}
	}
}
