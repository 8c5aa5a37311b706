package queue

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"brig/brigd/job"
)

const (
	// keepWorker is how long a worker that is silent stays in the list of those that may have sandboxes.
	keepWorker = time.Minute
	// yield is by how much each sandbox delays a worker's offer to take another one, and maxYield the most.
	yield    = 300 * time.Microsecond
	maxYield = 20 * time.Millisecond
)

// Sandboxes serves HTTP to other brigds of the queue, by messages. It is a net.Listener.
type Sandboxes struct {
	*Queue
	conns chan net.Conn
	ended context.Context
	end   context.CancelFunc

	listed bool // other brigds may reach it
}

// ServeSandboxes returns the listener of this process. If there is room, other brigds may reach it: room returns how
// many sandboxes there are, and whether there may be one more.
func (q *Queue) ServeSandboxes(room func() (count int, more bool)) (*Sandboxes, error) {
	s := &Sandboxes{Queue: q, conns: make(chan net.Conn)}
	s.ended, s.end = context.WithCancel(context.Background())
	q.own = s
	if room == nil {
		return s, nil
	}
	if err := s.register(); err != nil {
		return nil, err
	}
	s.listed = true
	go s.registerOften()
	if _, err := q.nc.Subscribe(dialSubject+q.Name(), s.called); err != nil {
		return nil, err
	}
	_, err := q.nc.Subscribe(placeSubject, func(m *nats.Msg) {
		if count, more := room(); more && s.ended.Err() == nil {
			time.AfterFunc(min(maxYield, time.Duration(count)*yield), func() {
				if err := m.Respond([]byte(q.Name())); err != nil {
					q.o.Logger.Debug("room for a sandbox is not offered", "error", err)
				}
			})
		}
	})
	return s, err
}

// called takes a connection.
func (s *Sandboxes) called(m *nats.Msg) {
	if m.Reply == "" || s.ended.Err() != nil {
		return
	}
	t, c, err := s.newTunnel(m.Reply)
	if err == nil {
		if err = t.send(kindOpen, nil); err == nil {
			go t.run()
			go s.take(c)
			return
		}
		t.end()
	}
	s.o.Logger.Warn("a brigd of the queue cannot be answered", "error", err)
}

// take hands a connection to HTTP.
func (s *Sandboxes) take(c net.Conn) {
	select {
	case s.conns <- c:
	case <-s.ended.Done():
		_ = c.Close() // cannot fail
	}
}

// Accept implements net.Listener.
func (s *Sandboxes) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended.Done():
		return nil, http.ErrServerClosed
	}
}

// Close implements net.Listener.
func (s *Sandboxes) Close() error {
	if s.end(); s.listed {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		return s.present.Delete(ctx, s.Name())
	}
	return nil
}

// Addr implements net.Listener.
func (s *Sandboxes) Addr() net.Addr { return local{}.LocalAddr() }

func (s *Sandboxes) register() error {
	return trying(s.ended, patience, 0, func(ctx context.Context) error {
		_, err := s.present.PutString(ctx, s.Name(), "")
		return err
	})
}

// registerOften keeps the worker in the list of those that live.
func (s *Sandboxes) registerOften() {
	for {
		select {
		case <-s.ended.Done():
			return
		case <-time.After(keepWorker / 3):
			if err := s.register(); err != nil && s.ended.Err() == nil {
				s.o.Logger.Warn("the worker's sandboxes are not listed", "error", err)
			}
		}
	}
}

// Place returns the name of a worker that has room for a sandbox: the first that offers it.
func (q *Queue) Place(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	m, err := q.nc.RequestWithContext(ctx, placeSubject, nil)
	switch {
	case err == nil:
		return string(m.Data), nil
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded) && q.nc.IsConnected():
		return "", &job.Refusal{Code: "no_worker", Layer: "queue", Message: "no worker has room for a sandbox at present",
			NextSteps: []string{"send the same request again in a few seconds", "delete sandboxes, or start another worker"}}
	}
	return "", unavailable(err)
}

// Present returns the names of the workers that live, or have lived until lately.
func (q *Queue) Present(ctx context.Context) (list []string, err error) {
	err = trying(ctx, startTime, 0, func(ctx context.Context) error {
		list, err = q.present.Keys(ctx)
		if errors.Is(err, jetstream.ErrNoKeysFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return list, nil
}

// Lost returns the refusal of a request whose worker does not answer, or did not answer to its end. sandbox is whether
// it is about one there.
func (q *Queue) Lost(worker string, sandbox bool, err error) *job.Refusal {
	if !q.nc.IsConnected() {
		return unavailable(err)
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
