package audit

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/nsjail"
)

// A line that parseLine accepts is what build makes of it, byte for byte up to the event's own fields.
func FuzzParseLine(f *testing.F) {
	fields := must.Get(Event{Kind: RunEnd, Run: "r", Status: "ok", Usage: []byte(`{"wall_ms":1.5}`)}.encode())(f)
	line, _ := build(7, time.Unix(1<<30, 5), origin, fields)
	f.Add(bytes.TrimSuffix(line, []byte("\n")))
	f.Add([]byte(`{"seq":1}`))
	f.Add([]byte{})
	f.Add([]byte(`"event":"x","seq":9,"note":"` + strings.Repeat("n", tailSize) + `"`))
	f.Add([]byte(`"event":"x","prev":"","note":"` + strings.Repeat("n", tailSize) + `"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > tailSize { // give it a hash that fits, or nothing would get any further
			line, _ := build(1, time.Unix(0, 0), origin, data)
			if l, err := parseLine(line[:len(line)-1]); err == nil && (l.Seq != 1 || l.Prev != origin) {
				t.Fatalf("%s is read as number %d", line, l.Seq)
			}
		}
		l, err := parseLine(data)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(data, head(l.Seq, l.Time, l.Prev)) || !bytes.HasSuffix(data, []byte(l.Hash+`"}`)) {
			t.Fatalf("%q", data)
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add("a", "b\n\x1b[2J", "\xff\u202e")
	f.Fuzz(func(t *testing.T, run, agent, note string) {
		fields := must.Get(Event{Kind: "x", Run: run, Agent: agent, Note: note, Argv: []string{run, note},
			Verdict: &Verdict{Error: agent}}.encode())(t)
		line, _ := build(1, time.Unix(0, 0), origin, fields)
		line = line[:len(line)-1]
		if !utf8.Valid(line) || strings.ContainsFunc(string(line), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", line)
		}
		l := must.Get(parseLine(line))(t)
		if utf8.ValidString(run) && len(run) <= maxName && l.Run != run {
			t.Fatalf("%q was written as %q", run, l.Run)
		}
	})
}

func benchmarkWrap(b *testing.B, sync string, clients int) {
	l := open(b, Options{Path: filepath.Join(b.TempDir(), "a"), Sync: sync})
	e := Wrap(&echo{}, l)
	run(b, clients, func() {
		if _, err := e.Execute(context.Background(), newJob("r")); err != nil {
			b.Error(err)
		}
	})
}

// run calls f b.N times by so many goroutines.
func run(b *testing.B, clients int, f func()) {
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := c; i < b.N; i += clients {
				f()
			}
		})
	}
	wait.Wait()
}

func BenchmarkWrapInterval(b *testing.B)        { benchmarkWrap(b, SyncInterval, 1) }
func BenchmarkWrapIntervalMany(b *testing.B)    { benchmarkWrap(b, SyncInterval, 200) }
func BenchmarkWrapAlways(b *testing.B)          { benchmarkWrap(b, SyncAlways, 1) }
func BenchmarkWrapAlways200AtOnce(b *testing.B) { benchmarkWrap(b, SyncAlways, 200) }

// The same with a jail: pairs of a run with and one without, in turn; "ratio" is the median of their ratios.
func BenchmarkRunnerAudited(b *testing.B)       { benchmarkRunner(b, SyncInterval) }
func BenchmarkRunnerAuditedAlways(b *testing.B) { benchmarkRunner(b, SyncAlways) }

func benchmarkRunner(b *testing.B, sync string) {
	r, err := nsjail.NewRunner()
	if err != nil {
		b.Skip("no Runner here: ", err)
	}
	defer r.Close()
	audited := Wrap(job.On(r), open(b, Options{Path: filepath.Join(b.TempDir(), "a"), Sync: sync}))
	one := func(e job.Executor) time.Duration {
		begin := time.Now()
		j := &job.Job{ID: "r", Spec: nsjail.Spec{Args: []string{"true"}}}
		if res, err := e.Execute(context.Background(), j); err != nil || res.ExitCode != 0 {
			b.Fatal(res, err)
		}
		return time.Since(begin)
	}
	var bare, with, ratio []time.Duration
	for b.Loop() {
		x, y := one(job.On(r)), one(audited)
		bare, with, ratio = append(bare, x), append(with, y), append(ratio, y*1000/x)
	}
	for _, l := range [][]time.Duration{bare, with, ratio} {
		slices.Sort(l)
	}
	mid := len(ratio) / 2
	b.ReportMetric(float64(ratio[mid])/1000, "ratio")
	b.ReportMetric(float64(bare[mid].Microseconds()), "µs/bare")
	b.ReportMetric(float64(with[mid].Microseconds()), "µs/audited")
}
