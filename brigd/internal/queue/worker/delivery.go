package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"brig/brigd/internal/front"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
)

// delivery is a run that the server has given to a worker.
type delivery struct {
	m      *nats.Msg
	number uint64    // of the message
	stored time.Time // by the server's clock
	tries  int       // this one included
	run    record.Run
	double bool // another message starts the run
	line   line
}

// read reads the run.
func (d *delivery) read(ctx context.Context, bodies *record.Bodies) error {
	body, err := bodies.Unpack(ctx, d.m.Header, d.m.Data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &d.run); err != nil {
		return fmt.Errorf("%w: %w", retry.ErrPermanent, err)
	}
	if !front.ID.MatchString(d.run.ID) {
		return fmt.Errorf("%w: its id is none", retry.ErrPermanent)
	}
	return nil
}

// triesOf returns how many deliveries of a message were tries, the last one included: as often as left, it was only
// left in the queue.
func triesOf(delivered, left uint64) int { return int(delivered - min(delivered-1, left)) }

// beat tells the server that a run goes on, three times in each wait for an acknowledgement.
func beat(m *nats.Msg, wait time.Duration, log *slog.Logger) (stop func()) {
	ended := make(chan struct{})
	first := time.AfterFunc(wait/3, func() { // most runs are shorter, and need no goroutine
		tick := time.NewTicker(wait / 3)
		defer tick.Stop()
		for {
			if err := m.InProgress(); err != nil {
				log.Debug("the queue does not learn that a run goes on", "error", err)
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	return func() { first.Stop(); close(ended) }
}
