package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// posting is a run on its way into the queue. For one that may be asked for again, the record q.ID is made first: it is
// the lock that lets one request put the run there, of all brigds and at any time. The server's own recognition of a
// message is for two minutes only.
type posting struct {
	*Front
	c        engine.Caller
	j        *queued
	body     []byte
	record   record // in the key q.ID, and its
	revision uint64
	again    bool // an earlier request may have put the run there
}

// submit puts a run into the queue. The response is nil if the run is there, and its result if it has ended before.
func (f *Front) submit(ctx context.Context, c engine.Caller, r *engine.Request, j *queued) *engine.Response {
	request := *r
	request.Agent, request.ID = "", j.ID
	p := &posting{Front: f, c: c, j: j}
	j.Owner, j.Caller, j.Rules = ownerOf(c), c.Key(), f.o.Rules
	j.Agent, j.Token, j.Request = cmp.Or(c.Agent, r.Agent), c.Grant.Bearer(), request
	packed, err := f.packing.take(ctx, c.Key(), r)
	if err != nil {
		return p.refuse(unavailable(err))
	}
	defer packed()
	if r.Key != "" {
		text, err := json.Marshal(&request)
		if err != nil {
			return p.refuse(unavailable(err))
		}
		j.Digest = digest(string(text))
	}
	body, err := json.Marshal(j)
	if err != nil {
		return p.refuse(unavailable(err))
	}
	ctx, cancel := context.WithTimeout(ctx, startTime+slow(len(body)))
	defer cancel()
	p.body = body
	if r.Key != "" {
		end, err := f.asking.take(ctx, j.ID)
		if err != nil {
			return p.refuse(unavailable(err))
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
	end, a := p.room(ctx)
	if a != nil {
		return a
	}
	defer end()
	if !p.record.Counted {
		if no := p.count(p.c); no != nil {
			p.withdraw(ctx)
			return p.refuse(no)
		}
	}
	switch {
	case p.j.Request.Key != "" && !p.record.Counted: // what happens from here on, the run is not counted again
		p.record.Counted = true
		if err := p.note(ctx); err != nil {
			return p.refuse(unavailable(err))
		}
	case p.j.Request.Key == "" && p.j.Tracked:
		p.record = record{owner: p.j.Owner}
		if err := p.note(ctx); err != nil && !raced(err) { // nobody else has this id
			return p.refuse(unavailable(err))
		}
	}
	if no := p.o.Record.Sent(p.j.sender(), &p.j.Request); no != nil {
		return refused(p.j.ID, no)
	}
	number, a := p.publish(ctx)
	if a == nil && p.j.Request.Key != "" {
		p.record.By, p.record.Message = "", number
		if err := p.noteOnce(ctx); err != nil { // a worker has begun with it, or will find its message
			p.o.Logger.Debug("that a run is in the queue is not recorded", "run", p.j.ID, "error", err)
		}
	}
	return a
}

// note writes the record, and tries that as long as the request may take.
func (p *posting) note(ctx context.Context) error { return trying(ctx, startTime, 0, p.noteOnce) }

func (p *posting) noteOnce(ctx context.Context) error {
	text, err := json.Marshal(&p.record)
	if err != nil {
		return err
	}
	revision, err := p.results.Update(ctx, "q."+p.j.ID, text, p.revision)
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
	err := p.results.Purge(ctx, "q."+p.j.ID, jetstream.LastRevision(p.revision))
	if err != nil { // the next request with its key replaces it
		p.o.Logger.Warn("the record of a run that was refused is not removed", "run", p.j.ID, "error", err)
	}
}

// claimTime is how long another brigd may take to put a run into the queue whose record it has made.
const claimTime = startTime + 2*soon

// claim makes the record of a run, or takes it over from a request that could not put the run into the queue. If the
// run is known, it returns its result, a refusal, or nil for a run that has no result yet.
func (p *posting) claim(ctx context.Context) (a *engine.Response, known bool) {
	for {
		var later bool
		err := trying(ctx, startTime, 0, func(ctx context.Context) (err error) {
			a, known, later, err = p.look(ctx)
			return err
		})
		switch {
		case err != nil:
			return p.refuse(unavailable(err)), true
		case !later:
			return a, known
		}
		select {
		case <-ctx.Done():
			return p.refuse(unavailable(errors.New("another brigd is putting the run into it"))), true
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// look makes or reads the record once. later reports whether it has to be read again: another brigd is at work.
func (p *posting) look(ctx context.Context) (a *engine.Response, known, later bool, err error) {
	key := "q." + p.j.ID
	p.record = record{owner: p.j.Owner, Digest: p.j.Digest, By: p.inbox, Counted: !p.counted(p.c)}
	text, err := json.Marshal(&p.record)
	if err != nil {
		return nil, false, false, err
	}
	made, err := p.results.Create(ctx, key, text)
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return nil, false, false, err
	}
	entry, err := p.results.Get(ctx, key)
	asked := &record{}
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, false, true, nil
	} else if err == nil {
		err = json.Unmarshal(entry.Value(), asked)
	}
	done, _, failed := p.head(ctx, "r."+p.j.ID)
	if err = errors.Join(err, failed); err != nil {
		return nil, false, false, err
	}
	switch p.revision = entry.Revision(); {
	case asked.Digest != p.j.Digest, done != nil && cmp.Or(done.Digest, p.j.Digest) != p.j.Digest:
		a = p.refuse(reused)
	case done != nil:
		if err = p.load(ctx, done); err == nil {
			if a = done.Result; a == nil {
				a = p.refuse(gone)
			}
		}
	case made == p.revision:
		return nil, false, false, nil
	case asked.By == "" || asked.Running != nil:
		return nil, true, false, nil
	case asked.By != p.inbox && p.waited(entry.Created()) < claimTime:
		return nil, false, true, nil
	default: // who was to put it there has given up
		p.record.Counted, p.again = asked.Counted, true
		if err = p.noteOnce(ctx); raced(err) {
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
	return p.j.refuse(p.o.Record, no)
}

// reused is the refusal of another request with a key.
var reused = &job.Refusal{Code: "key_reused", Layer: "request", Rule: "Idempotency-Key",
	Message:   "another request had this Idempotency-Key",
	NextSteps: []string{"send another key, or none", "send the earlier request as it was"}}

// gone is the refusal of a request for a result that is not kept any more.
var gone = &job.Refusal{Code: "result_gone", Layer: "queue",
	Message:   "the run has ended, and its result is not kept any more",
	NextSteps: []string{"run it again, with another Idempotency-Key if it had one"}}

// publish puts the message of a run into the stream, and returns its number.
func (p *posting) publish(ctx context.Context) (number uint64, a *engine.Response) {
	tenant := digest(p.c.Key())
	l := laneOf(p.j.Request.Urgency, tenant)
	var full *jetstream.APIError
	err := trying(ctx, startTime, len(p.body), func(ctx context.Context) error {
		m, err := p.pack(ctx, runsSubject+l.token()+"."+tenant, bodyName(p.j.ID, tenant), p.body)
		if err == nil {
			var ack *jetstream.PubAck
			ack, err = p.js.PublishMsg(ctx, m, jetstream.WithMsgID(p.j.ID), jetstream.WithExpectStream(runsStream))
			if err == nil {
				number = ack.Sequence
				p.rates.stored(number)
			}
		}
		if errors.As(err, &full) && (strings.HasPrefix(full.Description, "maximum messages") || overfull(err)) {
			return nil
		}
		full = nil
		return err
	})
	switch {
	case err != nil: // it may be there nevertheless: one with a key is found by the next request, or made
		if p.j.Request.Key == "" {
			go p.end(p.j.ID, p.c)
		}
		return 0, p.refuse(unavailable(err))
	case full != nil:
		return 0, p.full(ctx)
	}
	return number, nil
}

// full returns the refusal of a run for which there is no room. A run that is counted already, and may be sent again,
// is not counted then.
func (p *posting) full(ctx context.Context) *engine.Response {
	if !p.counted(p.c) || p.j.Request.Key == "" {
		p.withdraw(ctx)
	}
	if !p.again && !p.fits(p.body) {
		p.drop(ctx, p.files, bodyName(p.j.ID, digest(p.c.Key())))
	}
	a := p.refuse(&job.Refusal{Code: "queue_full", Layer: "queue", Rule: "queue",
		Message: "as many runs wait as may wait", NextSteps: []string{"send the same request again later, as " +
			"Retry-After says", "or let your earlier runs end, or cancel them"}})
	a.RetryAfter = p.rates.retry()
	return a
}
