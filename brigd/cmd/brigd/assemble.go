package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"brig/brigd/audit"
	"brig/brigd/engine"
	"brig/brigd/internal/admit"
	"brig/brigd/internal/config"
	"brig/brigd/internal/live"
	"brig/brigd/internal/metrics"
	"brig/brigd/internal/tokencmd"
	"brig/brigd/internal/trace"
	"brig/brigd/job"
	"brig/brigd/share"
	"brig/brigd/token"
	"brig/brigd/workspace"
	"brig/internal/store"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// daemon holds the parts of brigd that HTTP and MCP share.
type daemon struct {
	c        *config.Config
	log      *slog.Logger
	engine   *engine.Engine
	gate     *admit.Gate // of requests
	places   *admit.Gate // of jails
	metrics  *metrics.Metrics
	trace    *trace.Tracer
	audit    *audit.Log
	ledger   *token.Ledger
	live     live.Table
	refused  *audit.Refusals // counts requests that were refused entry; nil without an audit log
	launcher launcherWatch
	queued   queued
	runs     context.Context // cancelled when the remaining runs must end
}

// assemble builds the daemon. If a part fails, the parts built before it are closed.
func assemble(ctx context.Context, c *config.Config, log *slog.Logger) (p *daemon, err error) {
	p = &daemon{c: c, log: log, launcher: launcherWatch{gone: make(chan error, 1)}, runs: ctx}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(ctx))
			p = nil
		}
	}()
	o, err := engineOptions(c)
	if err != nil {
		return p, err
	}
	if err = p.descriptors(); err != nil {
		return p, err
	}
	p.collect(o.Base.CgroupParent)
	if p.trace, err = trace.New(ctx, version, log); err != nil {
		return p, err
	}
	if err = p.records(&o); err != nil {
		return p, err
	}
	p.gauges()
	p.gate, p.places = p.newGates()
	o.Wrap = func(next job.Executor) job.Executor { return p.metrics.Wrap(p.trace.Wrap(p.live.Wrap(next))) }
	o.Sandboxes.Removed = func(b *workspace.Sandbox, by string, err error) {
		if err != nil {
			log.Error("a sandbox is not removed", "sandbox", b.ID, "by", by, "error", err)
		}
	}
	o.StoreFailed = func(id, what string, err error) {
		log.Error("a sandbox, snapshot or change set "+what, "id", id, "error", config.Told(err))
	}
	o.JailFailed = func(run string, err error) { log.Warn("a jail could not be made", "id", run, "error", err) }
	o.WarmFailed = func(language string, err error) {
		log.Error("warm interpreters could not be replaced by those with other limits", "language", language, "error", err)
	}
	if err = p.connectQueue(ctx, &o); err != nil {
		return p, err
	}
	if p.engine, err = engine.New(o); errors.Is(err, engine.ErrStore) {
		return p, fmt.Errorf("--sandbox-store: %w", err)
	} else if err != nil {
		return p, fmt.Errorf("the engine: %w; brig doctor says what this machine lacks", config.Told(err))
	}
	if err = p.engine.Lacks(); err != nil {
		return p, config.Told(err)
	}
	if err = p.engine.CheckInterpreters(ctx); err != nil {
		return p, fmt.Errorf("--language: %w", err)
	}
	if err = p.engine.Prestart(ctx); err != nil {
		return p, fmt.Errorf("--warm: %w", err)
	}
	p.caution(&o)
	if c.Warm.GoCache {
		go p.fillGoCache(ctx)
	}
	return p, p.openQueue(ctx)
}

// fillGoCache compiles Go's standard library in the background. Runs that start earlier do without the cache.
func (p *daemon) fillGoCache(ctx context.Context) {
	begin := time.Now()
	if err := p.engine.FillGoCache(ctx); err != nil && ctx.Err() == nil {
		p.log.Error("Go code runs without a cache", "error", err)
		return
	}
	p.log.Info("Go's standard library is compiled", "took", time.Since(begin))
}

// records opens the audit log and the token ledger.
func (p *daemon) records(o *engine.Options) (err error) {
	if p.c.Audit.Path != "" {
		if p.audit, err = openAudit(p.c, p.log); err != nil {
			return err
		}
		o.Audit, p.refused = p.audit, audit.NewRefusals(p.audit)
	}
	if o.TokenKeys, err = tokencmd.ReadKeys(p.c.Sockets.TokenKeys); err != nil || len(o.TokenKeys) == 0 {
		return err
	}
	if p.ledger, err = token.OpenLedger(p.c.StateDir); err != nil {
		return fmt.Errorf("--state-dir: %w", err)
	}
	o.Ledger = p.ledger
	return store.Protect(p.c.StateDir)
}

func openAudit(c *config.Config, log *slog.Logger) (*audit.Log, error) {
	o := c.Audit.Options
	o.Broken = func(why error) {
		if why == nil {
			log.Info("the audit log can be written again")
			return
		}
		log.Error("the audit log cannot be written: all is refused until it can", "audit", c.Audit.Path, "error", why)
	}
	if c.Audit.KeyFile != "" {
		var err error
		if o.Key, err = token.ReadPrivateKey(c.Audit.KeyFile); err != nil {
			return nil, tokencmd.KeyError("--audit-key", err)
		}
	}
	l, err := audit.Open(o)
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	return l, nil
}

// gauges registers the metrics. Their functions are called later, when all parts exist.
func (p *daemon) gauges() {
	o := metrics.Options{Version: version, Sandboxes: func() int { return p.engine.SandboxCount() },
		Depth:   func() int { return p.gate.Depth() + p.places.Depth() },
		Running: func() int { return p.places.Running() }, Live: p.live.Sum}
	if len(p.c.Warm.Interpreters) > 0 {
		o.Warm = func() (list []metrics.Warmth) {
			for _, w := range p.engine.Warmth() {
				list = append(list, metrics.Warmth(w))
			}
			return list
		}
	}
	if p.c.JetStream.At != "" {
		o.Queue = p.queued.counts
	}
	o.Images = p.c.Images.Names
	for _, s := range p.c.Shares.List {
		o.Shares = append(o.Shares, s.Name)
	}
	if p.audit != nil {
		o.AuditBroken = func() bool { return p.audit.Broken() != nil }
	}
	p.metrics = metrics.New(o)
}

// collect removes what a killed brigd has left: control groups, what stood for absent protected paths, and changes of
// shares on disk.
func (p *daemon) collect(parent string) {
	type leftover struct {
		what    string
		collect func() (removed []string, busy int, err error)
	}
	list := []leftover{
		{"control groups", func() ([]string, int, error) { return nsjail.CollectGroups(parent) }},
		{"sockets at protected paths", func() ([]string, int, error) {
			removed, err := nsjail.CollectGhosts()
			return removed, 0, err
		}},
	}
	if slices.ContainsFunc(p.c.Shares.List, func(s share.Share) bool { return s.Store == spec.StoreDisk }) {
		list = append(list, leftover{"changes of shares", nsjail.CollectStores})
	}
	for _, l := range list {
		removed, busy, err := l.collect()
		if err != nil {
			p.log.Warn(l.what+" of earlier runs are not all removed", "error", err)
		}
		if len(removed) > 0 {
			p.log.Info(l.what+" of earlier runs are removed", "removed", len(removed), "in_use", busy)
		}
	}
}

// close closes the parts in reverse order.
func (p *daemon) close(ctx context.Context) error {
	errs := []error{p.queued.close()}
	if p.engine != nil {
		errs = append(errs, p.engine.Close())
	}
	if p.audit != nil {
		p.refused.Close()
		errs = append(errs, p.audit.Close())
	}
	if p.ledger != nil {
		errs = append(errs, p.ledger.Close())
	}
	if p.trace != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := p.trace.Close(ctx); err != nil {
			p.log.Warn("the last traces are not delivered", "error", err)
		}
	}
	return errors.Join(errs...)
}
