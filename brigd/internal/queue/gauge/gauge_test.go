package gauge

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// clocked is a stream whose server's clock is off.
type clocked struct {
	jetstream.Stream
	off time.Duration
}

func (c clocked) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return &jetstream.StreamInfo{TimeStamp: time.Now().Add(c.off)}, nil
}

// A worker's clock may be a day off that of the server, whose times are in the messages.
func TestClockADayOff(t *testing.T) {
	for _, off := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			q := &Gauge{}
			before := time.Now().Add(off) // a message is stored
			if !q.Doubtful(before) {
				t.Error("it is known to be new although the server's clock is unknown")
			}
			time.Sleep(time.Minute)
			q.Sample(t.Context(), clocked{off: off})
			q.Doubt()
			time.Sleep(time.Minute)
			after := time.Now().Add(off)
			time.Sleep(3 * time.Second)
			if waited := q.Waited(after); waited != 3*time.Second {
				t.Errorf("a message of three seconds ago has waited %s", waited)
			}
			if !q.Doubtful(before) || q.Doubtful(after) {
				t.Errorf("%s: one before may have ended: %v, and one after: %v", off, q.Doubtful(before), q.Doubtful(after))
			}
		})
	}
}
