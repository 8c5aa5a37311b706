// Package metrics counts brigd's events for Prometheus. Only this package imports the client library.
//
// No label takes values from callers: agents' names, paths, hosts and messages do not create series.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"brig/brigd/job"
	"brig/nsjail"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options are the sources of the gauges. A nil function omits its gauge.
type Options struct {
	// Version is the version of brigd.
	Version string
	// Sandboxes is how many sandboxes exist, Depth how many runs wait and Running how many have a place.
	Sandboxes, Depth, Running func() int
	// Live returns the memory, in bytes, and the tasks of the control groups of running jails.
	Live func() (memory, tasks float64)
	// Warm returns the state of the parked interpreters.
	Warm func() []Warmth
	// Queue returns the length of the durable queue, and how many runs this worker has taken from it, has taken again
	// after another, has given up, and has ended after another.
	Queue func() (length int, taken, again, dead, late int64)
	// Shares and Images are the names of the operator's shares and images.
	Shares, Images []string
	// AuditBroken reports whether the audit log cannot be written at present.
	AuditBroken func() bool
}

// Metrics holds all metrics, in a private registry.
type Metrics struct {
	registry *prometheus.Registry
	factory  promauto.Factory

	executions, violations, refusals, rejected, limits, attempts, shares, images *prometheus.CounterVec

	seconds, wait, memory prometheus.Histogram
	phases                *prometheus.HistogramVec
	active                prometheus.Gauge
	audit                 prometheus.Counter
	totals                []prometheus.Counter // in the order of the variable totals
}

// New returns the metrics. Every label value exists from the start, as 0: a rate over a series that is created by its
// first event would miss that event.
func New(o Options) *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{registry: registry, factory: promauto.With(registry)}
	m.vectors()
	m.mounts(o.Shares)
	m.roots(o.Images)
	m.histograms()
	m.active = m.factory.NewGauge(prometheus.GaugeOpts{Name: "active_sandboxes",
		Help: "Jails that are being made, run or end."})
	m.audit = m.counter("sandbox_audit_failures_total",
		"Runs that were refused because they could not be written to the audit log.")
	for _, t := range totals {
		m.totals = append(m.totals, m.counter(t.name, t.help))
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.factory.NewGaugeFunc(prometheus.GaugeOpts{Name: "brigd_build_info",
		Help:        "Always 1; the labels say which brigd this is.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version(), "goarch": runtime.GOARCH}},
		func() float64 { return 1 })
	m.gauge("sandbox_work_areas", "Sandboxes that exist: work areas kept from run to run.", o.Sandboxes)
	m.gauge("sandbox_queue_depth", "Runs that wait for a place.", o.Depth)
	m.gauge("sandbox_running", "Runs that have a place.", o.Running)
	if o.Queue != nil {
		m.queue(o.Queue)
	}
	if o.Live != nil {
		registry.MustRegister(usage(o.Live))
	}
	if o.Warm != nil {
		registry.MustRegister(warmth(o.Warm))
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
	return m
}

// Handler returns a handler that serves all metrics in the Prometheus format that the client prefers.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

func (m *Metrics) gauge(name, help string, read func() int) {
	if read != nil {
		m.factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(read()) })
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return m.factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// queue adds the metrics of a durable queue.
func (m *Metrics) queue(read func() (length int, taken, again, dead, late int64)) {
	m.gauge("brigd_queue_length", "Runs in the durable queue, as its leader tells: waiting or going on.", func() int {
		length, _, _, _, _ := read()
		return length
	})
	for i, c := range [][2]string{{"taken", "Runs that this worker has taken from the queue."},
		{"again", "Runs that this worker has taken after another had begun with them."},
		{"given_up", "Runs that this worker has given up."},
		{"late", "Runs of this worker whose result another had stored before."}} {
		m.factory.NewCounterFunc(prometheus.CounterOpts{Name: "brigd_queue_" + c[0] + "_total", Help: c[1]}, func() float64 {
			_, taken, again, dead, late := read()
			return float64([]int64{taken, again, dead, late}[i])
		})
	}
}

// Waited records how long a run has waited for its place.
func (m *Metrics) Waited(d time.Duration) { m.wait.Observe(d.Seconds()) }

// Rejected counts a run that the queue refused, by the Refusal's Code.
func (m *Metrics) Rejected(code string) { m.rejected.WithLabelValues(known(code, rejections)).Inc() }

// Wrap returns an Executor that counts the runs of next.
func (m *Metrics) Wrap(next job.Executor) job.Executor { return &counted{m, next} }

type counted struct {
	*Metrics
	next job.Executor
}

// Execute runs a Job and counts it, refused or not.
func (c *counted) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	if seen, ok := ctx.Value(seenKey{}).(*atomic.Bool); ok {
		seen.Store(true)
	}
	if j.Verdict.Refusal != nil {
		c.refused(j.Verdict.Refusal)
		return c.next.Execute(ctx, j)
	}
	start := time.Now()
	r, err := c.run(ctx, j)
	var no *job.Refusal
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
		c.shown(j)
	}
	return r, err
}

func (c *counted) run(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	c.active.Inc()
	defer c.active.Dec()
	return c.next.Execute(ctx, j)
}

type seenKey struct{}

// Request marks a request that should become a Job. If the request is refused before that, done counts the refusal. A
// nil Refusal counts nothing.
func (m *Metrics) Request(ctx context.Context) (marked context.Context, done func(*job.Refusal)) {
	seen := new(atomic.Bool)
	return context.WithValue(ctx, seenKey{}, seen), func(no *job.Refusal) {
		if no != nil && !seen.Load() {
			m.refused(no)
		}
	}
}
