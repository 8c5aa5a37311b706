package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"brig/agent/engine"
	"brig/cmd/brigd/internal/admit"
	"brig/cmd/brigd/internal/config"
	"brig/cmd/brigd/internal/front"
	"brig/cmd/brigd/internal/queue"
	"brig/internal/cli"
	"brig/internal/sys"
)

// queued are the parts of a brigd with a durable queue: a server of its own, the connection, the front that puts runs
// into it, and the worker that takes them. Parts that the settings do not ask for are nil.
type queued struct {
	server *queue.Server
	queue  *queue.Queue
	front  *queue.Front
	worker *queue.Worker
	end    context.CancelFunc
}

// work runs brigd worker.
func work(c *config.Config, std cli.Stdio) int {
	return runService(c, std, func(d *service) (http.Handler, error) { return d.watched(), nil })
}

// watched returns the handler of a worker's own sockets: its health and metrics.
func (d *service) watched() http.Handler {
	all := d.api()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/metrics", "/v1/version":
		default:
			r.URL.Path, r.URL.RawPath = "/", "" // nothing else is here: runs come from the queue
		}
		all.ServeHTTP(w, r)
	})
}

// openQueue connects to the queue that the settings name, if they name one, and starts to take runs from it.
func (p *daemon) openQueue(ctx context.Context) (err error) {
	j := &p.c.JetStream
	if j.At == "" {
		return nil
	}
	at, err := j.URL()
	if err != nil {
		return err
	}
	if j.Own() {
		if p.queued.server, err = queue.StartServer(ctx, j.At, j.ServerConfig, os.Stderr, p.log); err != nil {
			return fmt.Errorf("--jetstream: %w", err)
		}
		if err := sys.AddStore(j.At); err != nil { // no run may read or write it by a share above it
			return err
		}
	}
	o := queue.Options{URL: at, Creds: j.Creds, CA: j.CA, Cert: j.Cert, Key: j.Key, Plain: j.Plain,
		Name: cmp.Or(j.Worker, queue.DefaultName()), Replicas: j.Replicas, AckWait: time.Duration(j.AckWait),
		MaxDeliver: j.MaxDeliver, KeepResults: time.Duration(j.KeepResults), Version: version, Logger: p.log}
	if p.c.Command != "worker" {
		o.Queued, o.QueuedPerTenant = p.c.Gate.Queue, p.c.Gate.QueuePerCaller
	}
	if p.queued.queue, err = queue.Connect(ctx, o); err != nil {
		return fmt.Errorf("--jetstream: %w", err)
	}
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	p.queued.end = end
	go p.queued.queue.Watch(watch)
	if p.ledger != nil {
		go p.queued.queue.ShareRevocations(watch, p.c.StateDir)
	}
	if p.c.Slots() > 0 {
		if err := p.startWorker(); err != nil {
			return fmt.Errorf("--jetstream: %w", err)
		}
	}
	if p.c.Command == "worker" {
		return nil
	}
	p.queued.front, err = queue.NewFront(p.queued.queue, p.engine.Count)
	return err
}

func (p *daemon) startWorker() (err error) {
	dirs := []string{os.TempDir()}
	for _, dir := range []string{p.c.StateDir, p.c.Engine.Store, p.c.Engine.ChangesDir} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if p.c.JetStream.Own() {
		dirs = append(dirs, p.c.JetStream.At)
	}
	if p.c.Audit.Path != "" {
		dirs = append(dirs, filepath.Dir(p.c.Audit.Path))
	}
	short := func() string {
		if p.audit != nil && p.audit.Broken() != nil {
			return "an audit log that can be written"
		}
		return queue.Short(dirs...)
	}
	p.queued.worker, err = queue.StartWorker(p.queued.queue, queue.WorkerOptions{Runner: p.local(),
		Slots: p.c.Slots(), Enter: p.places.Enter, RequireToken: p.c.RequireToken, Short: short})
	return err
}

// newGates returns the gate of requests and that of jails. They are one, unless a queue is in between: what waits for
// the queue takes no place of a jail, and what comes from it was chosen fairly.
func (p *daemon) newGates() (gate, places *admit.Gate) {
	o := p.c.Gate
	o.Running = p.c.Places()
	o.Waited, o.Refused = p.metrics.Waited, p.metrics.Rejected
	if p.c.JetStream.At == "" {
		gate = admit.New(o)
		return gate, gate
	}
	inner := admit.Options{Running: o.Running, PerCaller: o.Running, Queue: p.c.MaxRequests + p.c.Slots(),
		Waited: o.Waited}
	o.Running = p.c.MaxRequests
	o.PerCaller, o.Waited = o.Running, nil
	return admit.New(o), admit.New(inner)
}

// local returns the engine of this process as HTTP and MCP use it.
func (p *daemon) local() localEngine { return localEngine{p.engine, p.runs, p.metrics, &p.launcher} }

// served returns the engine that HTTP and MCP use: this process's, or the queue.
func (p *daemon) served() front.Engine {
	if p.queued.front == nil {
		return p.local()
	}
	return queuedEngine{turns{p.local(), p}, p.queued.front}
}

// turns is the engine of this process for runs that do not go through the queue: they have places like those that do.
type turns struct {
	localEngine
	p *daemon
}

// Run waits for a place, and runs a request.
func (t turns) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	release, err := t.p.places.Enter(ctx, c.Key())
	if err != nil {
		a := &engine.Response{ID: r.ID, Status: "cancelled", ExitCode: -1}
		if no := front.AsRefusal(err); no != nil {
			a.Status, a.Error = "refused", no
		}
		return a
	}
	defer release()
	ended := r.Ended
	r.Ended = func() {
		release()
		if ended != nil {
			ended()
		}
	}
	return t.localEngine.Run(ctx, c, r, stream)
}

// queuedEngine is the engine of a brigd whose runs go through the queue. Sandboxes are of this brigd alone.
type queuedEngine struct {
	turns
	queue *queue.Front
}

// Run puts a run into the queue and waits for its result. A run in a sandbox, or with a stream of input, is run here.
func (e queuedEngine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	if r.Sandbox != "" || r.StdinReader != nil {
		return e.turns.Run(ctx, c, r, stream)
	}
	ctx, cancel := e.bounded(ctx)
	defer cancel()
	return e.queue.Run(ctx, c, r, stream)
}

// counts returns the queue's length and the worker's counts, for metrics.
func (q *queued) counts() (length int, taken, again, dead, late int64) {
	if q.queue != nil {
		length = q.queue.Length()
	}
	if q.worker != nil {
		taken, again, dead, late = q.worker.Counts()
	}
	return length, taken, again, dead, late
}

// running returns how many runs of the queue go on.
func (q *queued) running() int {
	if q.worker == nil {
		return 0
	}
	return q.worker.Running()
}

// drain stops to take runs from the queue, and waits for those that go on until ctx ends.
func (q *queued) drain(ctx context.Context) error {
	if q.worker == nil {
		return nil
	}
	err := q.worker.Drain(ctx)
	if err != nil {
		q.worker.Kill()
	}
	return err
}

// close closes the parts, the server last.
func (q *queued) close() error {
	var errs []error
	if q.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastAnswers)
		defer cancel()
		errs = append(errs, q.drain(ctx))
	}
	if q.end != nil {
		q.end()
	}
	if q.queue != nil {
		q.queue.Close()
	}
	if q.server != nil {
		errs = append(errs, q.server.Close())
	}
	return errors.Join(errs...)
}
