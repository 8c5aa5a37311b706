package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/admit"
	"brig/brigd/internal/api"
	"brig/brigd/internal/config"
	"brig/brigd/internal/front"
	"brig/brigd/internal/queue"
	"brig/brigd/internal/queue/peers"
	queueserver "brig/brigd/internal/queue/server"
	"brig/brigd/internal/queue/submit"
	"brig/brigd/internal/queue/worker"
	"brig/brigd/internal/remote"
	"brig/internal/cli"
	"brig/internal/store"
)

// queued has the parts of a brigd with a durable queue: a server of its own, the connection, the front that puts runs
// into the queue, and the worker that takes them out. Parts that the settings do not ask for are nil.
type queued struct {
	server *queueserver.Server
	queue  *queue.Queue
	peers  *peers.Peers
	front  *submit.Front
	worker *worker.Worker
	http   *http.Server // serves other brigds of the queue, for requests about sandboxes
	end    context.CancelFunc
	rules  []byte // what is demanded of runs at other brigds: engine.Rules
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

// connectQueue connects to the queue that the settings name, if they name one. The engine keeps its snapshots there.
func (p *daemon) connectQueue(ctx context.Context, e *engine.Options) (err error) {
	j := &p.c.JetStream
	if j.At == "" {
		return nil
	}
	at, err := j.URL()
	if err != nil {
		return err
	}
	if j.Own() {
		if p.queued.server, err = queueserver.Start(ctx, j.At, j.ServerConfig, os.Stderr, p.log); err != nil {
			return fmt.Errorf("--jetstream: %w", err)
		}
		if err := store.Protect(j.At); err != nil { // no run may read or write it by a share above it
			return err
		}
	}
	o := queue.Options{URL: at, Creds: j.Creds, CA: j.CA, Cert: j.Cert, Key: j.Key, Plain: j.Plain,
		Name: cmp.Or(j.Worker, queue.DefaultName()), Replicas: j.Replicas, AckWait: time.Duration(j.AckWait),
		MaxDeliver: j.MaxDeliver, KeepResults: time.Duration(j.KeepResults), Version: version, Logger: p.log}
	if dir, ok := strings.CutPrefix(at, "unix:"); ok {
		if o.Store, err = queueserver.StoreOf(dir); err != nil {
			return fmt.Errorf("--jetstream: %w", err)
		}
	}
	if names := p.c.Elsewhere(); names != "" {
		p.log.Warn("settings that act only in other brigds of the queue are without effect here; give them to those",
			"settings", names)
	}
	if o.Rules, err = rulesOf(p.c, e); err != nil {
		return err
	}
	p.queued.rules = o.Rules
	o.Record = engine.NewRecorder(p.audit)
	if p.c.Command != "worker" {
		o.Queued, o.QueuedPerTenant = p.c.Gate.Queue, cmp.Or(p.c.Gate.QueuePerCaller, p.c.Gate.Queue)
	}
	if p.queued.queue, err = queue.Connect(ctx, o); err != nil {
		return fmt.Errorf("--jetstream: %w", err)
	}
	p.queued.peers = peers.New(p.queued.queue)
	e.Sandboxes.Name, e.Pool = o.Name, p.queued.queue.Snapshots()
	return nil
}

// openQueue starts to take runs from the queue, and to put runs into it.
func (p *daemon) openQueue(ctx context.Context) (err error) {
	q := p.queued.queue
	if q == nil {
		return nil
	}
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	p.queued.end = end
	go q.Watch(watch)
	if p.ledger != nil {
		go q.ShareRevocations(watch, p.c.StateDir)
	}
	o := p.workerOptions()
	if p.c.Slots() > 0 {
		if p.queued.worker, err = worker.Start(q, o); err != nil {
			return fmt.Errorf("--jetstream: %w", err)
		}
	}
	if err = p.serveSandboxes(&o); err != nil || p.c.Command == "worker" {
		return err
	}
	p.queued.front, err = submit.New(q, p.engine.Count)
	return err
}

// serveSandboxes serves HTTP through the queue. Another brigd sends a request about a sandbox directly to the worker
// that has the sandbox.
func (p *daemon) serveSandboxes(o *worker.Options) error {
	var room func() (int, bool)
	if w := p.queued.worker; w != nil {
		room = func() (int, bool) {
			n := p.engine.SandboxCount()
			return n, n < p.c.Sandboxes.Max && w.Short() == "" && !w.Ends()
		}
	}
	l, err := p.queued.peers.Serve(room)
	if err != nil {
		return fmt.Errorf("--jetstream: %w", err)
	}
	f := front.Options{Engine: p.local(), Gate: p.trace.Gate(p.places), Version: version, Logger: p.log,
		MaxBody: jsonGrowth * int64(p.c.HTTP.MaxBody), Trace: p.trace.Request, Authenticate: o.Authenticate,
		MaxRequests: p.c.HTTP.MaxRequests, BodyTime: always, Ready: func() bool { return true },
		Health: func() map[string]string { return nil }, Metrics: http.NotFoundHandler(), Live: &p.live,
		MaxFile: int64(p.c.HTTP.MaxFile), Record: engine.NewRecorder(p.audit)}
	p.queued.http = api.HTTPServer(api.New(f), p.log)
	p.queued.http.MaxHeaderBytes = maxRules
	go func() { _ = p.queued.http.Serve(l) }() // it ends with the listener
	return nil
}

const (
	// jsonGrowth is how many times longer than the caller's JSON that of a forwarded request may be.
	jsonGrowth = 6
	// maxRules bounds what another brigd demands with a request, in a header.
	maxRules = 16 << 20
	// always stands for no limit: the brigd that the caller has asked limits the time for a body.
	always = 366 * 24 * time.Hour
)

func (p *daemon) workerOptions() worker.Options {
	dirs := []worker.Dir{{Of: "temporary files", Path: os.TempDir()}, {Of: "the state", Path: p.c.StateDir},
		{Of: "sandboxes", Path: p.c.Sandboxes.Store}, {Of: "change sets", Path: p.c.Shares.ChangesDir}}
	if p.c.JetStream.Own() {
		dirs = append(dirs, worker.Dir{Of: "the queue", Path: p.c.JetStream.At})
	}
	if p.c.Audit.Path != "" {
		dirs = append(dirs, worker.Dir{Of: "the audit log", Path: filepath.Dir(p.c.Audit.Path)})
	}
	for _, d := range dirs {
		p.log.Debug("a directory that must have room", "of", d.Of, "dir", d.Path)
	}
	short := func() string {
		if p.audit != nil && p.audit.Broken() != nil {
			return "an audit log that can be written"
		}
		return worker.Short(dirs...)
	}
	return worker.Options{Runner: p.local(), Slots: p.c.Slots(), Share: p.c.SlotsPerCaller(), Enter: p.places.Enter,
		RequireToken: p.c.Sockets.RequireToken, Short: short,
		Book: &worker.RuleBook{Own: p.queued.rules}}
}

// newGates returns the gate of requests and that of jails. Without a queue they are the same. With a queue, a request
// that waits for it takes no place of a jail, and the queue itself is fair.
func (p *daemon) newGates() (gate, places *admit.Gate) {
	o := p.c.Gate.Options
	o.Running = p.c.Gate.Places()
	o.Waited, o.Refused = p.metrics.Waited, p.metrics.Rejected
	if p.c.JetStream.At == "" {
		gate = admit.New(o)
		return gate, gate
	}
	inner := admit.Options{Running: o.Running, PerCaller: o.PerCaller, Queue: p.c.HTTP.MaxRequests + p.c.Slots(),
		Waited: o.Waited}
	o.Running = p.c.HTTP.MaxRequests
	o.PerCaller, o.Waited = o.Running, nil
	return admit.New(o), admit.New(inner)
}

// local returns the engine of this process as HTTP and MCP use it.
func (p *daemon) local() localEngine {
	return localEngine{p.engine, p.runs, p.metrics, &p.launcher}
}

// served returns the engine that HTTP and MCP use: this process's, or the queue.
func (p *daemon) served() front.Engine {
	if p.queued.front == nil {
		return p.local()
	}
	return queuedEngine{remote.New(p.local(), p.queued.peers, p.engine.Count, p.queued.rules), p.queued.front, p.local(),
		engine.NewRecorder(p.audit)}
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

// running returns how many runs of the queue are in progress.
func (q *queued) running() int {
	if q.worker == nil {
		return 0
	}
	return q.worker.Running()
}

// drain takes no more runs from the queue, and waits for those in progress until ctx ends.
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
	if q.http != nil {
		errs = append(errs, q.http.Close())
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
