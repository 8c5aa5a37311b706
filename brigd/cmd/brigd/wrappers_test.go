package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"brig/brigd/audit"
	"brig/brigd/internal/metrics"
	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/nsjail"
)

// executor is an job.Executor that is a function.
type executor func(context.Context, *job.Job) (*nsjail.Result, error)

func (f executor) Execute(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
	return f(ctx, j)
}

// BenchmarkWrappers compares a run through policy, audit log and metrics with the same run without them, in pairs and
// interleaved; "ratio" is the median of the pairs' ratios. A run through engine.Engine is this and the request's own
// work.
func BenchmarkWrappers(b *testing.B) {
	r, err := nsjail.NewRunnerWith(nsjail.RunnerOptions{Pool: 8})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	log, err := audit.Open(audit.Options{Path: filepath.Join(b.TempDir(), "audit.jsonl")})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	p, err := policy.LoadProfile("", "minimal")
	if err != nil {
		b.Fatal(err)
	}
	p.Limits = policy.Limits{} // a limit that takes a control group would be compared with none
	if err := p.Seal(); err != nil {
		b.Fatal(err)
	}
	logged := audit.Wrap(metrics.New(metrics.Options{}).Wrap(job.On(r)), log)
	wrapped := executor(func(ctx context.Context, j *job.Job) (*nsjail.Result, error) {
		p.Decide(j)
		return logged.Execute(ctx, j)
	})
	one := func(e job.Executor) time.Duration {
		start := time.Now()
		j := &job.Job{ID: "run", Agent: "bench", Spec: nsjail.Spec{Args: []string{"/bin/true"}}, Stdout: io.Discard, Stderr: io.Discard}
		if _, err := e.Execute(context.Background(), j); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	for range 20 {
		one(job.On(r))
		one(wrapped)
	}
	var ratios, bare, with []time.Duration
	for b.Loop() {
		x, y := one(job.On(r)), one(wrapped)
		bare, with = append(bare, x), append(with, y)
		ratios = append(ratios, y*1000/x)
	}
	for _, l := range [][]time.Duration{ratios, bare, with} {
		slices.Sort(l)
	}
	mid := len(ratios) / 2
	b.ReportMetric(float64(ratios[mid])/1000, "ratio")
	b.ReportMetric(float64(bare[mid].Microseconds()), "µs/bare")
	b.ReportMetric(float64(with[mid].Microseconds()), "µs/wrapped")
}
