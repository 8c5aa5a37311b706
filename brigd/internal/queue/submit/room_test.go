package submit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue"
)

// asked is a stream that counts the looks at it. It never has more than one message, however many came and left.
type asked struct {
	jetstream.Stream
	looks int
	last  uint64
}

func (a *asked) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	a.looks++
	return &jetstream.StreamInfo{TimeStamp: time.Now(), State: jetstream.StreamState{Msgs: 1, LastSeq: a.last}}, nil
}

// Between two samples more runs come than may wait, and all leave: one look clears that up for all who ask at once.
func TestRunsThatHaveLeftAreNoLongerCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &asked{last: 7}
		q := &queue.Queue{Runs: s}
		r := newRoom(q)
		q.Gauge.Sample(t.Context(), s)
		time.Sleep(time.Second)
		s.last = 1007
		q.Gauge.Stored(s.last)
		for range 8 {
			if !r.below(t.Context(), 512) {
				t.Error("the queue seems full, and has one run")
			}
		}
		if s.looks != 2 {
			t.Errorf("%d looks, want the sample and one more", s.looks)
		}
	})
}

// A tenant who has as many runs as he may have, in all classes, gets no room; others do.
func TestRoomOfOneTenant(t *testing.T) {
	for has, want := range map[uint64]bool{0: true, 1: true, 2: false, 9: false} {
		q := &queue.Queue{Runs: counted{of: map[string]uint64{"brig.runs.high.0.x": has / 2, "brig.runs.low.0.x": has - has/2}}}
		q.Options.QueuedPerTenant = 2
		r := newRoom(q)
		end, ok, err := r.take(t.Context(), "x")
		if ok != want || err != nil {
			t.Errorf("of 2 he has %d: one more %v, %v", has, ok, err)
		}
		if ok {
			end()
		}
		if len(r.filling.busy) > 0 {
			t.Errorf("of 2 he has %d: a turn is left", has)
		}
	}
}

// counted is a stream with so many messages by subject.
type counted struct {
	jetstream.Stream
	of map[string]uint64
}

func (c counted) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return &jetstream.StreamInfo{State: jetstream.StreamState{Subjects: c.of, Msgs: 9}}, nil
}
