package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"brig/brigd/internal/api"
	"brig/brigd/internal/config"
	"brig/brigd/internal/front"
	"brig/brigd/internal/links"
	"brig/brigd/internal/listen"
	"brig/internal/cli"
)

// serve runs brigd serve.
func serve(c *config.Config, std cli.Stdio) int {
	return runService(c, std, func(d *service) (http.Handler, error) { return d.api(), nil })
}

// service is a brigd that serves HTTP.
type service struct {
	*daemon
	auth     *authenticator
	links    *links.Links // nil without --port-host
	sockets  *sockets
	server   *http.Server
	draining atomic.Bool
	ended    []func() error // called at the end, before the connections are closed
}

// runService serves a handler until a signal arrives.
func runService(c *config.Config, std cli.Stdio, handler func(*service) (http.Handler, error)) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	log := newLogger(std.Err, c)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	d, err := startUnlessSignalled(signals, cancel, func() (*service, error) { return startService(ctx, c, log, handler) })
	if err != nil {
		return fail(std, err.Error())
	}
	err = d.serveUntilSignal(signals, cancel)
	if err = errors.Join(err, d.stop(ctx)); err != nil {
		log.Error("the end is not in order", "error", err)
		return cli.ExitUsage
	}
	log.Info("ended")
	return 0
}

// startGrace is how long a start may take to end after a signal.
const startGrace = 2 * time.Second

// startUnlessSignalled returns the result of start. A signal cancels the start, even one that hangs: what remains of it
// ends with this process.
func startUnlessSignalled(signals <-chan os.Signal, cancel context.CancelCauseFunc,
	start func() (*service, error)) (*service, error) {
	var d *service
	made := make(chan error, 1)
	go func() {
		var err error
		d, err = start()
		made <- err
	}()
	select {
	case err := <-made:
		return d, err
	case s := <-signals:
		err := fmt.Errorf("%s has ended the start", s)
		cancel(err)
		select {
		case failed := <-made:
			if failed == nil {
				failed = d.stop(context.Background())
			}
			return nil, errors.Join(err, failed)
		case <-signals:
		case <-time.After(startGrace):
		}
		return nil, err
	}
}

// startService opens the sockets first and then assembles the rest, so that a client that connects right after the
// start waits and is not refused.
func startService(ctx context.Context, c *config.Config, log *slog.Logger, handler func(*service) (http.Handler,
	error)) (d *service, err error) {
	d = &service{daemon: &daemon{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.stop(ctx))
			d = nil
		}
	}()
	if d.sockets, err = openSockets(ctx, c); err != nil {
		return d, err
	}
	made, err := assemble(ctx, c, log)
	if err != nil {
		return d, err
	}
	d.daemon = made
	if d.links, err = d.sockets.links(c); err != nil {
		return d, err
	}
	if d.auth, err = newAuthenticator(c, d.engine, d.links); err != nil {
		return d, err
	}
	if d.refused != nil {
		d.auth.note = d.refused.Add
	}
	h, err := handler(d)
	if err != nil {
		return d, err
	}
	d.server = api.HTTPServer(h, log)
	d.server.ConnContext, d.server.ConnState = listen.WithPeer, listen.State
	if d.sockets.tcp && len(c.Rules.Policies) == 0 {
		log.Warn("callers by TCP may do whatever a jail may, and reach any network that they name; --policy bounds that")
	}
	return d, nil
}

// options returns the options of the HTTP servers.
func (d *service) options() front.Options {
	o := d.daemon.options()
	o.Trace = d.trace.Request
	h := &d.c.HTTP
	o.Authenticate, o.Hosts, o.Origins, o.MaxRequests = d.auth.caller, h.Hosts, h.Origins, h.MaxRequests
	o.Links, o.Credential = d.links, d.auth.credential
	o.Ready, o.Health, o.Metrics, o.Live = d.ready, d.health, d.metrics.Handler(), &d.live
	o.MaxFile = int64(d.c.HTTP.MaxFile)
	if e, ok := o.Engine.(queuedEngine); ok {
		o.Runs = e.Runs
	}
	return o
}

// api returns the handler of the HTTP and JSON interface.
func (d *service) api() http.Handler { return api.New(d.options()) }

// ready reports whether brigd accepts runs.
func (d *service) ready() bool {
	return !d.draining.Load() && (d.audit == nil || d.audit.Broken() == nil)
}

// health returns the details that authenticated callers may read.
func (d *service) health() map[string]string {
	m := map[string]string{"running": strconv.Itoa(d.places.Running()), "waiting": strconv.Itoa(d.gate.Depth()),
		"draining": strconv.FormatBool(d.draining.Load())}
	if w := d.queued.worker; w != nil {
		m["worker"], m["short_of"] = w.Name(), w.Short()
	}
	if d.audit != nil {
		m["audit"] = "ok"
		if d.audit.Broken() != nil {
			m["audit"] = "broken: runs are refused until it can be written again"
		}
	}
	return m
}

// serveUntilSignal answers requests until a signal arrives. Running jails then have the drain timeout to end, or until
// a second signal. cancel ends those that remain.
func (d *service) serveUntilSignal(signals <-chan os.Signal, cancel context.CancelCauseFunc) error {
	failed := make(chan error, len(d.sockets.list))
	for _, l := range d.sockets.list {
		go func() { failed <- d.server.Serve(l) }()
	}
	d.log.Info("ready", "listen", d.sockets.names(), "version", version, "pid", os.Getpid())
	d.notify("READY=1\nSTATUS=ready")
	var why error
	select {
	case s := <-signals:
		d.log.Info("draining", "signal", s.String(), "running", d.gate.Running(), "waiting", d.gate.Depth())
	case err := <-failed:
		why = fmt.Errorf("a socket has failed: %w", err)
	case why = <-d.launcher.gone:
	}
	if why != nil {
		d.log.Error("draining", "error", why)
	}
	d.drain(signals, cancel)
	return why
}

// drain refuses new runs and waits for those that have been accepted. Meanwhile /healthz answers 503.
func (d *service) drain(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	d.draining.Store(true)
	d.notify("STOPPING=1\nSTATUS=draining")
	ctx, enough := context.WithTimeout(context.Background(), time.Duration(d.c.Operation.DrainTimeout))
	defer enough()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-signals:
			enough()
		case <-done:
		}
	}()
	if err := errors.Join(d.gate.Drain(ctx), d.queued.drain(ctx), d.places.Drain(ctx)); err != nil {
		d.log.Warn("runs are cancelled", "running", d.gate.Running(), "cause", err)
	}
	for _, end := range d.ended {
		if err := end(); err != nil {
			d.log.Warn("a session is not ended in order", "error", err)
		}
	}
	if d.gate.Running()+d.queued.running()+d.places.Running() > 0 {
		cancel(errors.New("brigd is shutting down"))
	}
}

// lastAnswers is how long clients may take to read their answers after the last run has ended.
const lastAnswers = 5 * time.Second

// stop closes the connections, then the sockets, then the parts.
func (d *service) stop(ctx context.Context) error {
	var errs []error
	if d.server != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if err := d.server.Shutdown(last); err != nil {
			d.log.Warn("connections are cut off", "error", err)
			errs = append(errs, d.server.Close())
		}
	}
	if d.sockets != nil {
		errs = append(errs, d.sockets.close())
	}
	return errors.Join(append(errs, d.daemon.close(ctx))...)
}

// notify reports the state to a service manager.
func (d *service) notify(state string) {
	if err := listen.Notify(state); err != nil {
		d.log.Warn("the service manager is not told", "error", err)
	}
}
