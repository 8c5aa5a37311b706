// Package peers connects brigds of a queue, by messages: a request about a sandbox goes to the worker that has it.
package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/retry"
	"brig/brigd/internal/queue/wire"
	"brig/brigd/job"
)

// Peers are the brigds of a queue. It is a remote.Hub.
type Peers struct {
	nc      *nats.Conn
	present jetstream.KeyValue // the names of workers that live
	name    string             // of this one
	silence time.Duration      // after which a peer is lost
	log     *slog.Logger
	own     *Listener // of this process; nil without
}

// New returns the peers of a brigd.
func New(q *queue.Queue) *Peers {
	return &Peers{nc: q.Conn, present: q.Present, name: q.Name(), silence: q.AckWait, log: q.Options.Logger}
}

var errUnreached = errors.New("it does not answer")

// comeBack is how long a worker may take to connect again, to a server that was started again.
const comeBack = 2 * time.Second

// Dial connects to HTTP of a worker's; "" is this process. The error is errUnreached unless ctx has ended.
func (q *Peers) Dial(ctx context.Context, worker string) (net.Conn, error) {
	if worker == "" || worker == q.name {
		near, far := net.Pipe()
		go q.own.take(local{far})
		return near, nil
	}
	for end := time.Now().Add(comeBack); ; {
		c, err := q.dial(ctx, worker)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		_, ended := q.present.Get(ctx, worker)
		late := time.Now().After(end)
		if late && ended == nil { // it was killed: the next request need not wait
			ended = q.present.Delete(ctx, worker)
		}
		if late || errors.Is(ended, jetstream.ErrKeyNotFound) {
			return nil, fmt.Errorf("%w: %w", errUnreached, err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(maxBeat / 10):
		}
	}
}

func (q *Peers) dial(ctx context.Context, worker string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, retry.Soon)
	defer cancel()
	t, c, err := q.newTunnel("")
	if err != nil {
		return nil, err
	}
	if err = q.nc.PublishRequest(wire.DialSubject+worker, t.own, []byte{kindOpen}); err == nil {
		select {
		case <-t.opened:
			go t.run()
			return c, nil
		case <-t.ended.Done():
			err = nats.ErrNoResponders
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	t.end()
	return nil, err
}

// Place returns the name of a worker that has room for a sandbox: the first that offers it.
func (q *Peers) Place(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, retry.Soon)
	defer cancel()
	m, err := q.nc.RequestWithContext(ctx, wire.PlaceSubject, nil)
	switch {
	case err == nil:
		return string(m.Data), nil
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded) && q.nc.IsConnected():
		return "", &job.Refusal{Code: "no_worker", Layer: "queue", Message: "no worker has room for a sandbox at present",
			NextSteps: []string{"send the same request again in a few seconds", "delete sandboxes, or start another worker"}}
	}
	return "", retry.Unavailable(err)
}

// Present returns the names of the workers that live, or have lived until lately.
func (q *Peers) Present(ctx context.Context) (list []string, err error) {
	err = retry.Do(ctx, retry.Start, 0, func(ctx context.Context) error {
		list, err = q.present.Keys(ctx)
		if errors.Is(err, jetstream.ErrNoKeysFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, retry.Unavailable(err)
	}
	return list, nil
}

// Lost returns the refusal of a request whose worker does not answer, or did not answer to its end. sandbox is whether
// it is about one there.
func (q *Peers) Lost(worker string, sandbox bool, err error) *job.Refusal {
	if !q.nc.IsConnected() {
		return retry.Unavailable(err)
	}
	if !errors.Is(err, errUnreached) { // it was cut off
		var c net.Conn
		if c, err = q.Dial(context.Background(), worker); err == nil {
			_ = c.Close() // cannot fail
		}
	}
	if err != nil && sandbox {
		return &job.Refusal{Code: "sandbox_gone", Layer: "sandbox", Rule: "worker",
			Message: "the worker " + worker + ", which has the sandbox, was lost or does not answer",
			NextSteps: []string{"make a sandbox from a snapshot of it, if there is one: GET /v1/snapshots lists them",
				"ask again later if the worker keeps its sandboxes (--sandbox-store), and comes back"}}
	}
	return &job.Refusal{Code: "worker_gone", Layer: "queue",
		Message:   "the connection to the worker " + worker + " was lost; what it has done of the request is not known",
		NextSteps: []string{"send the same request again, if it may run twice"}}
}
