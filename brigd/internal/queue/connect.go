package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/engine"
	"brig/brigd/internal/queue/gauge"
	"brig/brigd/internal/queue/record"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
)

// Queue is a connection to the queue. Its methods may be called from several goroutines.
//
// Its fields are set by Connect, and are what the parts of the queue are made of: worker, submit, peers and dead.
type Queue struct {
	Options Options
	Conn    *nats.Conn
	JS      jetstream.JetStream
	Runs    jetstream.Stream
	Keys    *record.Keys
	Results *record.Results
	Bodies  *record.Bodies
	Bounds  *record.Bounds
	Present jetstream.KeyValue // the names of workers that live
	AckWait time.Duration
	Gauge   gauge.Gauge
	Local   Local

	revoked jetstream.KeyValue
	snaps   jetstream.ObjectStore // of snapshots
}

// Local hands the results of runs to callers in this process.
type Local struct {
	take atomic.Pointer[func(id string, a *engine.Response) bool]
}

// Set sets who takes results. It reports whether somebody waits for a run.
func (l *Local) Set(take func(id string, a *engine.Response) bool) { l.take.Store(&take) }

// Hand passes on the result of a run, and reports whether somebody has it.
func (l *Local) Hand(id string, a *engine.Response) bool {
	take := l.take.Load()
	return take != nil && (*take)(id, a)
}

// noStorage is the server's code for a stream whose bytes it could not keep.
const noStorage = 10047

// Connect connects to the queue and makes what it lacks. An existing queue is checked.
func Connect(ctx context.Context, o Options) (*Queue, error) {
	q := &Queue{Options: o}
	for at := range strings.SplitSeq(o.URL, ",") {
		if _, err := url.Parse(strings.TrimSpace(at)); err != nil { // the error has the password
			return nil, errors.New("an address of the queue is no URL; write nats://USER:PASSWORD@HOST:PORT, with %2F for " +
				"/ and %25 for % in a password")
		}
	}
	opts, err := o.client(&q.Gauge)
	if err != nil {
		return nil, err
	}
	at := o.URL
	if strings.HasPrefix(at, "unix:") {
		at = "nats://localhost" // not used: unixServer connects
	}
	if q.Conn, err = nats.Connect(at, opts...); err != nil {
		return nil, fmt.Errorf("the queue at %s cannot be reached: %w; start its server, or correct the address",
			o.where(), err)
	}
	q.Bounds = &record.Bounds{Store: o.Store, Queued: o.Queued, Payload: q.Conn.MaxPayload}
	if q.JS, err = jetstream.New(q.Conn, jetstream.WithDefaultTimeout(5*time.Second)); err == nil {
		err = q.makeSoon(ctx)
	}
	if err != nil {
		q.Conn.Close()
		return nil, err
	}
	return q, nil
}

// Close closes the connection.
func (q *Queue) Close() { q.Conn.Close() }

// Name returns the worker's name.
func (q *Queue) Name() string { return q.Options.Name }

// Length returns how many runs were in the queue when it was looked at last.
func (q *Queue) Length() int { return q.Gauge.Length() }

// Watch samples the queue until ctx ends.
func (q *Queue) Watch(ctx context.Context) { q.Gauge.Watch(ctx, q.Runs) }

// Count returns how many messages the stream of runs has by subject, of those that match.
func (q *Queue) Count(ctx context.Context, subjects string) (map[string]uint64, error) {
	info, err := q.Runs.Info(ctx, jetstream.WithSubjectFilter(wire.RunsSubject+subjects))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// makeSoon makes what the queue lacks. A cluster that has just been started needs some seconds to elect its leaders.
func (q *Queue) makeSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, retry.Start)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, retry.Soon) // a call has no answer while there is no leader
		err := q.make(try)
		end()
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == noStorage && q.Bounds.Store > 0 {
			q.Bounds.Store = -1 // its configuration keeps less than was thought
			continue
		}
		var wrong *layoutError
		if err == nil || errors.As(err, &wrong) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the queue at %s cannot be used: %w; see the log of its server", q.Options.where(), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}
