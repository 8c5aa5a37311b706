package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/front"
	"brig/brigd/job"
)

// Headers of a message in the stream of runs that were given up.
const (
	reasonHeader  = "Brig-Reason"
	subjectHeader = "Brig-Subject" // that it had
)

// givenUp is the code of the refusal that the caller of such a run gets.
const givenUp = "run_given_up"

// bury abandons the run: it is kept with the reason, its caller gets a refusal, and it leaves the queue.
func (d *delivery) bury(reason string) {
	id := d.j.ID
	m := nats.NewMsg(deadSubject + id)
	m.Data = d.m.Data
	m.Header.Set(reasonHeader, reason)
	m.Header.Set(subjectHeader, d.m.Subject)
	if name := d.m.Header.Get(objectHeader); name != "" {
		m.Header.Set(objectHeader, name)
		d.m.Header.Del(objectHeader) // acknowledge keeps it
	}
	ctx, end := d.lasting()
	defer end()
	err := trying(ctx, always, 0, func(ctx context.Context) error {
		_, err := d.js.PublishMsg(ctx, m)
		return err
	})
	if err != nil {
		d.Queue.o.Logger.Error("a run is not given up, and will be delivered again", "run", id, "error", err)
		return
	}
	d.dead.Add(1)
	d.Queue.o.Logger.Error("a run is given up", "run", id, "reason", reason)
	d.finish(d.j.refuse(d.Queue.o.Record, &job.Refusal{Code: givenUp, Layer: "queue", Message: reason,
		NextSteps: []string{"look for what it does to the machine that runs it", "brigd queue requeue " + id +
			" lets it run again"}}))
}

// unreadable abandons a run that cannot be read. Its id is in the name of its object, or is made from the number of its
// message. Its owner is in the record of its submission, if there is one.
func (d *delivery) unreadable(ctx context.Context, number uint64, why error) {
	id := idOf(d.m.Header.Get(objectHeader))
	if d.j = (queued{ID: id}); id == "" {
		d.j.ID = "unreadable-" + strconv.FormatUint(number, 10)
		d.bury(why.Error())
		return
	}
	var done *record
	err := trying(ctx, patience, 0, func(ctx context.Context) (err error) {
		asked, _, err := d.head(ctx, "q."+id)
		if asked != nil {
			d.j.Owner = asked.owner
		}
		if err == nil {
			done, _, err = d.head(ctx, "r."+id)
		}
		return err
	})
	switch {
	case err != nil:
		d.Queue.o.Logger.Warn("a run that cannot be read is not given up yet", "run", id, "error", err)
	case done != nil: // another worker has ended it, and removed its object
		d.late.Add(1)
		d.acknowledge()
	default:
		d.bury(why.Error())
	}
}

// given lists runs that were given up, at most 1,000.
func (q *Queue) given(ctx context.Context) (list []front.DeadRun, err error) {
	s, err := q.js.Stream(ctx, deadStream)
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
		list = append(list, front.DeadRun{ID: m.Subject[len(deadSubject):], Reason: m.Header.Get(reasonHeader), When: m.Time})
	}
	return list, nil
}

// Requeue puts a run that was given up into the queue again, under the same id.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	s, err := q.js.Stream(ctx, deadStream)
	if err != nil {
		return err
	}
	old, err := s.GetLastMsgForSubject(ctx, deadSubject+id)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return &job.Refusal{Code: "run_unknown", Layer: "request", Message: "no run with this id was given up",
			NextSteps: []string{"brigd queue lists them"}}
	}
	if err != nil {
		return err
	}
	body, err := q.unpack(ctx, old.Header, old.Data)
	if err != nil {
		return err
	}
	var j queued
	if json.Unmarshal(body, &j) == nil { // its caller does not wait any more, and its output is for the result
		j.Reply, j.Stream, j.Watch, j.Tracked = "", false, false, true
		if body, err = json.Marshal(&j); err != nil {
			return err
		}
	}
	m, err := q.pack(ctx, old.Header.Get(subjectHeader), bodyName(id, tenantOf(old.Header.Get(subjectHeader))), body)
	if err != nil {
		return err
	}
	if err := q.results.Purge(ctx, "r."+id); err != nil {
		return err
	}
	if _, err := q.js.PublishMsg(ctx, m); err != nil {
		return err
	}
	return s.DeleteMsg(ctx, old.Sequence)
}
