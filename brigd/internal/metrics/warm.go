package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Warmth is the state of the parked interpreters of a language: engine.Warmth.
type Warmth struct {
	Language      string
	Parked        int
	Memory        int64
	Taken, Missed int64
	Failed        int64
}

// warmth collects the metrics of parked interpreters, by their language.
type warmth func() []Warmth

// warmSeries are the metrics of one language.
var warmSeries = []struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(w *Warmth) float64
}{
	{warmDesc("sandbox_warm_parked", "Interpreters that are started and wait for a run."), prometheus.GaugeValue,
		func(w *Warmth) float64 { return float64(w.Parked) }},
	{warmDesc("sandbox_warm_memory_bytes",
		"Memory that only the waiting interpreters hold, without what they share with other programs."),
		prometheus.GaugeValue, func(w *Warmth) float64 { return float64(w.Memory) }},
	{warmDesc("sandbox_warm_taken_total", "Runs that a waiting interpreter has taken."), prometheus.CounterValue,
		func(w *Warmth) float64 { return float64(w.Taken) }},
	{warmDesc("sandbox_warm_missed_total",
		"Runs in a language with waiting interpreters that were started anew: none was ready, or the request differs."),
		prometheus.CounterValue, func(w *Warmth) float64 { return float64(w.Missed) }},
	{warmDesc("sandbox_warm_failed", "Interpreters of the present kind that could not be started."),
		prometheus.GaugeValue, func(w *Warmth) float64 { return float64(w.Failed) }},
}

func warmDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"language"}, nil)
}

// Describe implements prometheus.Collector.
func (w warmth) Describe(out chan<- *prometheus.Desc) {
	for _, s := range warmSeries {
		out <- s.desc
	}
}

// Collect implements prometheus.Collector.
func (w warmth) Collect(out chan<- prometheus.Metric) {
	for _, l := range w() {
		for _, s := range warmSeries {
			out <- prometheus.MustNewConstMetric(s.desc, s.kind, s.of(&l), l.Language)
		}
	}
}
