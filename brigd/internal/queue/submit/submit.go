package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/lane"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
)

// posting is a run on its way into the queue. For one that may be asked for again, the record q.ID is made first: it is
// the lock that lets one request put the run there, of all brigds and at any time. The server's own recognition of a
// message is for two minutes only.
type posting struct {
	f        *Front
	q        *queue.Queue // of f
	c        engine.Caller
	tenant   string
	j        *record.Run
	body     []byte
	record   record.Record // in the key q.ID, and its
	revision uint64
	again    bool // an earlier request may have put the run there
}

// submit puts a run into the queue. The response is nil if the run is there, and its result if it has ended before.
func (f *Front) submit(ctx context.Context, c engine.Caller, r *engine.Request, j *record.Run) *engine.Response {
	request := *r
	request.Agent, request.ID = "", j.ID
	p := &posting{f: f, q: f.q, c: c, tenant: wire.Digest(c.Key()), j: j}
	j.Owner, j.Caller, j.Rules = record.OwnerOf(c), c.Key(), f.q.Options.Rules
	j.Agent, j.Token, j.Request = cmp.Or(c.Agent, r.Agent), c.Grant.Bearer(), request
	packed, err := f.packing.take(ctx, c.Key(), r)
	if err != nil {
		return p.refuse(retry.Unavailable(err))
	}
	defer packed()
	if r.Key != "" {
		text, err := json.Marshal(&request)
		if err != nil {
			return p.refuse(retry.Unavailable(err))
		}
		j.Digest = wire.Digest(string(text))
	}
	body, err := json.Marshal(j)
	if err != nil {
		return p.refuse(retry.Unavailable(err))
	}
	ctx, cancel := context.WithTimeout(ctx, retry.Start+retry.Slow(len(body)))
	defer cancel()
	p.body = body
	if r.Key != "" {
		end, err := f.asking.take(ctx, j.ID)
		if err != nil {
			return p.refuse(retry.Unavailable(err))
		}
		defer end()
		if a, known := p.claim(ctx); known {
			return a
		}
	}
	return p.put(ctx)
}

// put counts the run in the ledger of the caller's token and publishes it.
func (p *posting) put(ctx context.Context) *engine.Response {
	end, a := p.takeRoom(ctx)
	if a != nil {
		return a
	}
	defer end()
	if !p.record.Counted {
		if no := p.f.ledger.count(p.c); no != nil {
			p.withdraw(ctx)
			return p.refuse(no)
		}
	}
	switch {
	case p.j.Request.Key != "" && !p.record.Counted: // what happens from here on, the run is not counted again
		p.record.Counted = true
		if err := p.note(ctx); err != nil {
			return p.refuse(retry.Unavailable(err))
		}
	case p.j.Request.Key == "" && p.j.Tracked:
		p.record = record.Record{Owner: p.j.Owner}
		if err := p.note(ctx); err != nil && !record.Raced(err) { // nobody else has this id
			return p.refuse(retry.Unavailable(err))
		}
	}
	if no := p.q.Options.Record.Sent(p.j.Sender(), &p.j.Request); no != nil {
		return record.Refused(p.j.ID, no)
	}
	number, a := p.publish(ctx)
	if a == nil && p.j.Request.Key != "" {
		p.record.By, p.record.Message = "", number
		if err := p.noteOnce(ctx); err != nil { // a worker has begun with it, or will find its message
			p.q.Options.Logger.Debug("that a run is in the queue is not recorded", "run", p.j.ID, "error", err)
		}
	}
	return a
}

// takeRoom takes room for the run, until end, or refuses it: for a large body as well.
func (p *posting) takeRoom(ctx context.Context) (end func(), a *engine.Response) {
	ok, err := p.q.Bodies.Room(ctx, p.tenant, p.body)
	if err == nil && ok {
		end, ok, err = p.f.room.take(ctx, p.tenant)
	}
	switch {
	case err != nil:
		return nil, p.refuse(retry.Unavailable(err))
	case !ok:
		return nil, p.full(ctx)
	}
	return end, nil
}

// note writes the record, and tries that as long as the request may take.
func (p *posting) note(ctx context.Context) error { return retry.Do(ctx, retry.Start, 0, p.noteOnce) }

func (p *posting) noteOnce(ctx context.Context) error {
	revision, err := p.q.Keys.Update(ctx, record.AskedKey(p.j.ID), &p.record, p.revision)
	if err == nil {
		p.revision = revision
	}
	return err
}

// withdraw removes the record of a run that is not put into the queue.
func (p *posting) withdraw(ctx context.Context) {
	if p.revision == 0 {
		return
	}
	err := p.q.Keys.Remove(ctx, record.AskedKey(p.j.ID), p.revision)
	if err != nil { // the next request with its key replaces it
		p.q.Options.Logger.Warn("the record of a run that was refused is not removed", "run", p.j.ID, "error", err)
	}
}

// claimTime is how long another brigd may take to put a run into the queue whose record it has made.
const claimTime = retry.Start + 2*retry.Soon

// claim makes the record of a run, or takes it over from a request that could not put the run into the queue. If the
// run is known, it returns its result, a refusal, or nil for a run that has no result yet.
func (p *posting) claim(ctx context.Context) (a *engine.Response, known bool) {
	for {
		var later bool
		err := retry.Do(ctx, retry.Start, 0, func(ctx context.Context) (err error) {
			a, known, later, err = p.look(ctx)
			return err
		})
		switch {
		case err != nil:
			return p.refuse(retry.Unavailable(err)), true
		case !later:
			return a, known
		}
		select {
		case <-ctx.Done():
			return p.refuse(retry.Unavailable(errors.New("another brigd is putting the run into it"))), true
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// look makes or reads the record once. later reports whether it has to be read again: another brigd is at work.
func (p *posting) look(ctx context.Context) (a *engine.Response, known, later bool, err error) {
	key := record.AskedKey(p.j.ID)
	p.record = record.Record{Owner: p.j.Owner, Digest: p.j.Digest, By: p.f.inbox, Counted: !p.f.ledger.has(p.c)}
	made, err := p.q.Keys.Create(ctx, key, &p.record)
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return nil, false, false, err
	}
	asked, revision, since, err := p.q.Keys.Look(ctx, key)
	if asked == nil && err == nil {
		return nil, false, true, nil
	}
	done, _, failed := p.q.Keys.Head(ctx, record.ResultKey(p.j.ID))
	if err = errors.Join(err, failed); err != nil {
		return nil, false, false, err
	}
	switch p.revision = revision; {
	case asked.Digest != p.j.Digest, done != nil && cmp.Or(done.Digest, p.j.Digest) != p.j.Digest:
		a = p.refuse(reused)
	case done != nil:
		if err = p.q.Results.Load(ctx, done); err == nil {
			if a = done.Result; a == nil {
				a = p.refuse(record.Gone)
			}
		}
	case made == p.revision:
		return nil, false, false, nil
	case asked.By == "" || asked.Running != nil:
		return nil, true, false, nil
	case asked.By != p.f.inbox && p.q.Gauge.Waited(since) < claimTime:
		return nil, false, true, nil
	default: // who was to put it there has given up
		p.record.Counted, p.again = asked.Counted, true
		if err = p.noteOnce(ctx); record.Raced(err) {
			return nil, false, true, nil // it is another's
		}
		return nil, false, false, err
	}
	if made == p.revision { // the result has outlived its request
		p.withdraw(ctx)
	}
	return a, true, false, err
}

// refuse records that the run is not put into the queue, and returns the response to it.
func (p *posting) refuse(no *job.Refusal) *engine.Response {
	return p.j.Refuse(p.q.Options.Record, no)
}

// reused is the refusal of another request with a key.
var reused = &job.Refusal{Code: "key_reused", Layer: "request", Rule: "Idempotency-Key",
	Message:   "another request had this Idempotency-Key",
	NextSteps: []string{"send another key, or none", "send the earlier request as it was"}}

// publish puts the message of a run into the stream, and returns its number.
func (p *posting) publish(ctx context.Context) (number uint64, a *engine.Response) {
	l := lane.Of(p.j.Request.Urgency, p.tenant)
	var full *jetstream.APIError
	err := retry.Do(ctx, retry.Start, len(p.body), func(ctx context.Context) error {
		m, err := p.q.Bodies.Pack(ctx, wire.RunsSubject+l.Token()+"."+p.tenant, p.j.ID, p.tenant, p.body)
		if err == nil {
			var ack *jetstream.PubAck
			ack, err = p.q.JS.PublishMsg(ctx, m, jetstream.WithMsgID(p.j.ID), jetstream.WithExpectStream(wire.Runs))
			if err == nil {
				number = ack.Sequence
				p.q.Gauge.Stored(number)
			}
		}
		if errors.As(err, &full) && (strings.HasPrefix(full.Description, "maximum messages") || record.Overfull(err)) {
			return nil
		}
		full = nil
		return err
	})
	switch {
	case err != nil: // it may be there nevertheless: one with a key is found by the next request, or made
		if p.j.Request.Key == "" {
			go p.f.end(p.j.ID, p.c)
		}
		return 0, p.refuse(retry.Unavailable(err))
	case full != nil:
		return 0, p.full(ctx)
	}
	return number, nil
}

// full returns the refusal of a run for which there is no room. A run that is counted already, and may be sent again,
// is not counted then.
func (p *posting) full(ctx context.Context) *engine.Response {
	if !p.f.ledger.has(p.c) || p.j.Request.Key == "" {
		p.withdraw(ctx)
	}
	if !p.again {
		p.q.Bodies.Withdraw(ctx, p.j.ID, p.tenant, p.body)
	}
	a := p.refuse(&job.Refusal{Code: "queue_full", Layer: "queue", Rule: "queue",
		Message: "as many runs wait as may wait", NextSteps: []string{"send the same request again later, as " +
			"Retry-After says", "or let your earlier runs end, or cancel them"}})
	a.RetryAfter = p.q.Gauge.Retry()
	return a
}
