package metrics

import "github.com/prometheus/client_golang/prometheus"

func (m *Metrics) newActive() prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "active_sandboxes",
		Help: "Jails that are being made, run or end."})
	m.registry.MustRegister(g)
	return g
}

// newPhases returns a histogram whose buckets begin at a tenth of a millisecond: a start takes about two milliseconds.
func (m *Metrics) newPhases() *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sandbox_start_phase_seconds",
		Help:    "The parts of a jail's start, one after the other, and its end; the run itself is not among them.",
		Buckets: []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1}}, []string{"phase"})
	m.registry.MustRegister(h)
	for _, p := range phaseNames {
		h.WithLabelValues(p)
	}
	return h
}

var (
	liveMemory = prometheus.NewDesc("sandbox_live_memory_bytes",
		"Memory that the control groups of running jails hold now.", nil, nil)
	liveTasks = prometheus.NewDesc("sandbox_live_tasks", "Processes and threads in the control groups of running jails.",
		nil, nil)
)

// usage collects both gauges with one reading of each control group.
type usage func() (memory, tasks float64)

// Describe implements prometheus.Collector.
func (u usage) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(u, out) }

// Collect implements prometheus.Collector.
func (u usage) Collect(out chan<- prometheus.Metric) {
	memory, tasks := u()
	out <- prometheus.MustNewConstMetric(liveMemory, prometheus.GaugeValue, memory)
	out <- prometheus.MustNewConstMetric(liveTasks, prometheus.GaugeValue, tasks)
}
