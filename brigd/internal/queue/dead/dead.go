// Package dead keeps runs that were given up, with the reason, until they may begin again.
package dead

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/front"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
)

// Headers of a message in the stream of runs that were given up.
const (
	reasonHeader  = "Brig-Reason"
	subjectHeader = "Brig-Subject" // that it had
)

// Runs are those that were given up.
type Runs struct {
	js     jetstream.JetStream
	keys   *record.Keys
	bodies *record.Bodies
}

// New returns the runs of a queue that were given up.
func New(q *queue.Queue) *Runs { return &Runs{q.JS, q.Keys, q.Bodies} }

// Add keeps a run that is given up, and tries that until ctx ends. Its object is kept with it.
func (d *Runs) Add(ctx context.Context, id string, of *nats.Msg, reason string) error {
	m := nats.NewMsg(wire.DeadSubject + id)
	m.Data = of.Data
	m.Header.Set(reasonHeader, reason)
	m.Header.Set(subjectHeader, of.Subject)
	record.MoveObject(of.Header, m.Header)
	return retry.Do(ctx, retry.Always, 0, func(ctx context.Context) error {
		_, err := d.js.PublishMsg(ctx, m)
		return err
	})
}

// List lists runs that were given up, at most 1,000.
func (d *Runs) List(ctx context.Context) (list []front.DeadRun, err error) {
	s, err := d.js.Stream(ctx, wire.Dead)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	for seq := max(1, info.State.FirstSeq); seq <= info.State.LastSeq && len(list) < 1000; seq++ {
		m, err := s.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return list, err
		}
		list = append(list, front.DeadRun{ID: m.Subject[len(wire.DeadSubject):], Reason: m.Header.Get(reasonHeader),
			When: m.Time})
	}
	return list, nil
}

// Requeue puts a run that was given up into the queue again, under the same id.
func (d *Runs) Requeue(ctx context.Context, id string) error {
	s, err := d.js.Stream(ctx, wire.Dead)
	if err != nil {
		return err
	}
	old, err := s.GetLastMsgForSubject(ctx, wire.DeadSubject+id)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return &job.Refusal{Code: "run_unknown", Layer: "request", Message: "no run with this id was given up",
			NextSteps: []string{"brigd queue lists them"}}
	}
	if err != nil {
		return err
	}
	body, err := d.bodies.Unpack(ctx, old.Header, old.Data)
	if err != nil {
		return err
	}
	var j record.Run
	if json.Unmarshal(body, &j) == nil { // its caller does not wait any more, and its output is for the result
		j.Reply, j.Stream, j.Watch, j.Tracked = "", false, false, true
		if body, err = json.Marshal(&j); err != nil {
			return err
		}
	}
	subject := old.Header.Get(subjectHeader)
	m, err := d.bodies.Pack(ctx, subject, id, wire.TenantOf(subject), body)
	if err != nil {
		return err
	}
	if err := d.keys.Remove(ctx, record.ResultKey(id), 0); err != nil {
		return err
	}
	if _, err := d.js.PublishMsg(ctx, m); err != nil {
		return err
	}
	return s.DeleteMsg(ctx, old.Sequence)
}
