// Package metrics counts what brigd does, for Prometheus. It is the only package that knows its client library.
//
// No label's values come from outside: neither an agent's name nor a path, a host or a message makes a series of its
// own.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"brig/nsjail"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options are what the metrics read when they are asked for; a nil function is a figure that is not there.
type Options struct {
	// Version is brigd's.
	Version string
	// Sandboxes is how many work areas exist, Depth how many runs wait and Running how many have a place.
	Sandboxes, Depth, Running func() int
	// Live adds up the memory, in bytes, and the tasks of the control groups of running jails.
	Live func() (memory, tasks float64)
	// AuditBroken reports whether the audit log cannot be written at present.
	AuditBroken func() bool
}

// Metrics holds them all, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry
	base     http.Handler

	executions, violations, refusals, rejected   *prometheus.CounterVec
	limits, attempts                             *prometheus.CounterVec
	seconds, wait, memory                        prometheus.Histogram
	phases                                       *prometheus.HistogramVec
	active                                       prometheus.Gauge
	user, system, throttled, throttledPeriods    prometheus.Counter
	oomKills, ioRead, ioWritten, outBytes, audit prometheus.Counter
	outDropped, egressSent, egressReceived, lost prometheus.Counter
}

// New makes the metrics. Every value that a label may have is there from the beginning, as 0: a rate over a series that
// comes into being with its first event would miss that event.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.counters()
	m.histograms()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "brigd_build_info",
			Help:        "Always 1; the labels say which brigd this is.",
			ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version(), "goarch": runtime.GOARCH}},
			func() float64 { return 1 }))
	m.gauge("sandbox_work_areas", "Sandboxes that exist: work areas kept from run to run.", o.Sandboxes)
	m.gauge("sandbox_queue_depth", "Runs that wait for a place.", o.Depth)
	m.gauge("sandbox_running", "Runs that have a place.", o.Running)
	if o.Live != nil {
		m.registry.MustRegister(usage(o.Live))
	}
	if o.AuditBroken != nil {
		m.gauge("sandbox_audit_broken", "1 while the audit log cannot be written and runs are refused for it, else 0.",
			func() int {
				if o.AuditBroken() {
					return 1
				}
				return 0
			})
	}
	m.base = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	return m
}

// Handler answers with all metrics, in whichever of Prometheus' formats the client prefers.
func (m *Metrics) Handler() http.Handler { return m.base }

func (m *Metrics) gauge(name, help string, read func() int) {
	if read != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(read()) }))
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// vector is a counter with one label, whose values are these.
func (m *Metrics) vector(name, help, label string, values ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.registry.MustRegister(c)
	for _, v := range values {
		c.WithLabelValues(v)
	}
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// Waited notes how long a run has waited for its place.
func (m *Metrics) Waited(d time.Duration) { m.wait.Observe(d.Seconds()) }

// Rejected notes a run that was not let into the queue, by the Refusal's Code.
func (m *Metrics) Rejected(code string) { m.rejected.WithLabelValues(known(code, rejections)).Inc() }

// Wrap counts the runs of an Executor.
func (m *Metrics) Wrap(next nsjail.Executor) nsjail.Executor { return &counted{m, next} }

type counted struct {
	*Metrics
	next nsjail.Executor
}

// Execute runs a Job and counts it, refused or not.
func (c *counted) Execute(ctx context.Context, j *nsjail.Job) (*nsjail.Result, error) {
	if seen, ok := ctx.Value(seenKey{}).(*atomic.Bool); ok {
		seen.Store(true)
	}
	if j.Verdict.Refusal != nil {
		c.refused(j.Verdict.Refusal)
		return c.next.Execute(ctx, j)
	}
	start := time.Now()
	r, err := c.run(ctx, j)
	var no *nsjail.Refusal
	switch {
	case errors.As(err, &no):
		c.refused(no)
	case err != nil && ctx.Err() != nil:
		c.executions.WithLabelValues(string(nsjail.StatusCancelled)).Inc()
	case err != nil || r == nil:
		c.executions.WithLabelValues(string(nsjail.StatusError)).Inc()
	default:
		c.seconds.Observe(time.Since(start).Seconds())
		c.ended(r)
	}
	return r, err
}

func (c *counted) run(ctx context.Context, j *nsjail.Job) (*nsjail.Result, error) {
	c.active.Inc()
	defer c.active.Dec()
	return c.next.Execute(ctx, j)
}

type seenKey struct{}

// Request goes around one that should become a Job: where it is refused before it is one, done counts that. A nil
// Refusal counts nothing.
func (m *Metrics) Request(ctx context.Context) (marked context.Context, done func(*nsjail.Refusal)) {
	seen := new(atomic.Bool)
	return context.WithValue(ctx, seenKey{}, seen), func(no *nsjail.Refusal) {
		if no != nil && !seen.Load() {
			m.refused(no)
		}
	}
}
