package nsjail

import (
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// BenchmarkWays is a jail by each way to start, one after the other, without limits and with one of memory: its wall
// time, and the processor time of this process and its children, which is that of refilling a pool, too.
func BenchmarkWays(b *testing.B) {
	parked := Spec{Args: []string{"sh", "-c", `printf '\006'; read line`}}
	ways := []struct {
		name  string
		opts  RunnerOptions
		park  func(*Runner, Spec) error
		start func(*Cmd)
	}{
		{name: "cold", opts: RunnerOptions{Cold: true}},
		{name: "runner"},
		{name: "pool", opts: RunnerOptions{Pool: 8}},
		{name: "prestart", opts: RunnerOptions{Pool: 8}, park: func(r *Runner, s Spec) error { return r.Prestart(s, 8) }},
		{name: "running", opts: RunnerOptions{Pool: 8},
			park: func(r *Runner, s Spec) error {
				s.Args = parked.Args
				return r.PrestartRunning(s, 8)
			},
			start: func(c *Cmd) { c.Handover = &Handover{Args: parked.Args, Data: []byte("\n")} }},
	}
	for _, w := range ways {
		for name, memory := range map[string]Bytes{"free": 0, "64m": 64 << 20} {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				r := runnerWith(b, w.opts)
				s := Spec{Args: []string{"/bin/true"}, Limits: Limits{Memory: memory}}
				if _, err := r.CommandSpec(b.Context(), s).Run(); err != nil {
					b.Skip("this user's jails have no such limit here: ", err)
				}
				if w.park != nil {
					must.Do(b, w.park(r, s))
				}
				before := processorTime(b)
				for b.Loop() {
					c := r.CommandSpec(b.Context(), s)
					if w.start != nil {
						w.start(c)
					}
					must.Get(c.Run())(b)
				}
				b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// processorTime is what this process and its children that have ended have used.
func processorTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		must.Do(b, unix.Getrusage(who, &u))
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
