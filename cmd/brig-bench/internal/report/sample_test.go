package report

import (
	"time"

	"brig/cmd/brig-bench/internal/result"
)

// sample is a run that never was, with what a run can hold: tools that are absent, rows that failed, a zero X.
func sample() *result.Report {
	return &result.Report{
		Started:  time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
		Finished: time.Date(2026, 3, 1, 9, 47, 12, 0, time.UTC),
		Machine: result.Machine{CPU: "Example Processor 9000 @ 2.40GHz", Processors: 2, Memory: 8 << 30, Kernel: "6.12.30", OS: "Debian GNU/Linux 12",
			Virtual: "kvm", Cgroups: "hybrid", User: "root", LoadBefore: 0.08, LoadAfter: 1.31},
		Tools: []result.Tool{
			{Name: "no jail", Version: "", Differs: []string{"no isolation at all"}},
			{Name: "brig run", Version: "0.9.0"},
			{Name: "brig Runner", Version: "0.9.0", Differs: []string{"in the caller's process: no program is started for a jail but the payload"}},
			{Name: "bubblewrap", Version: "0.8.0", Differs: []string{"binds where brig has overlays", "root stays root"}},
			{Name: "nsjail", Version: "3.4", Differs: []string{"no system-call filter"}},
			{Name: "firejail", Absent: "not installed: apt-get install firejail"},
			{Name: "docker", Absent: "no daemon answers"},
		},
		Tables: []result.Table{sampleStart(), sampleMounts(), sampleThroughput(), sampleGrowth(), sampleMemory()},
	}
}

func ratio(to string, median, low, high float64, verdict string) *result.Ratio {
	return &result.Ratio{To: to, Median: median, Low: low, High: high, Verdict: verdict}
}

func sampleStart() result.Table {
	return result.Table{ID: "start", Title: "Start to exit, back to back", Unit: "ms",
		Question: "How long does a jail take that runs /bin/true, one right after the other?",
		Rows: []result.Row{
			{Tool: "no jail", N: 200, P50: 0.712, P90: 0.84, P99: 1.31, Ratio: ratio("brig run", 0.124, 0.121, 0.127, "faster")},
			{Tool: "brig run", N: 200, P50: 5.74, P90: 6.31, P99: 8.9},
			{Tool: "brig Runner", N: 200, P50: 1.92, P90: 2.2, P99: 3.05, Ratio: ratio("brig run", 0.334, 0.329, 0.341, "faster")},
			{Tool: "bubblewrap", N: 200, P50: 6.81, P90: 7.6, P99: 9.9, Ratio: ratio("brig run", 1.19, 1.16, 1.22, "slower")},
			{Tool: "nsjail", N: 200, P50: 5.8, P90: 7.1, P99: 11.2, Ratio: ratio("brig run", 1.01, 0.98, 1.04, "no difference shown")},
			{Tool: "firejail", Error: "exit status 1: cannot establish communication with the parent, exiting"},
		},
		Notes: []string{"A difference below 2.1 % is not called one: that is what brig differed from itself by."}}
}

func sampleMounts() result.Table {
	t := result.Table{ID: "mounts", Title: "Start to exit, on a host with many mounts", Unit: "ms", X: "host mounts",
		Question: "How does the time grow with the number of mounts that the host has?"}
	add := func(tool string, p50 ...float64) {
		for i, x := range []float64{0, 10, 100, 1000} {
			t.Rows = append(t.Rows, result.Row{Tool: tool, X: x, N: 50, P50: p50[i], P90: p50[i] * 1.1, P99: p50[i] * 1.5})
		}
	}
	add("no jail", 0.71, 0.7, 0.72, 0.71)
	add("brig run", 5.7, 5.8, 6.2, 11.4)
	add("brig Runner", 1.9, 1.9, 1.9, 2)
	add("bubblewrap", 6.4, 6.7, 11, 52)
	add("nsjail", 5.8, 6.1, 10.2, 49)
	t.Rows[len(t.Rows)-1] = result.Row{Tool: "nsjail", X: 1000, Error: "the payload exited with 255"}
	return t
}

func sampleThroughput() result.Table {
	t := result.Table{ID: "throughput", Title: "Jails a second", Unit: "1/s", Higher: true, X: "clients",
		Question: "How many jails that run /bin/true can be made in a second, by so many clients at once?"}
	add := func(tool string, p50 ...float64) {
		for i, x := range []float64{1, 2, 4, 8, 16} {
			t.Rows = append(t.Rows, result.Row{Tool: tool, X: x, N: 8, P50: p50[i], P90: p50[i] * 1.03, P99: p50[i] * 1.05})
		}
	}
	add("no jail", 1310, 2280, 2410, 2380, 2300)
	add("brig run", 170, 310, 330, 325, 318)
	add("brig Runner", 510, 905, 980, 990, 960)
	add("brig Runner, pool", 790, 1220, 1300, 1290, 1270)
	add("brig Runner, prestarted", 860, 1310, 1390, 1400, 1380)
	add("bubblewrap", 146, 228, 231, 225, 219)
	return t
}

func sampleMemory() result.Table {
	return result.Table{ID: "memory", Title: "Memory of a running jail", Unit: "KiB",
		Question: "How much memory does a jail hold whose payload sleeps, beside the payload's own?",
		Rows: []result.Row{
			{Tool: "no jail", N: 5, P50: 0},
			{Tool: "brig run", N: 5, P50: 812},
			{Tool: "brig Runner", N: 5, P50: 344, Ratio: ratio("brig run", 0.424, 0.41, 0.43, "less")},
			{Tool: "bubblewrap", N: 5, P50: 655, Ratio: ratio("brig run", 0.807, 0.79, 0.82, "less")},
		}}
}

func sampleGrowth() result.Table {
	t := result.Table{ID: "growth-handles", Title: "Descriptors and threads of the keeper", Unit: "count", X: "running jails",
		Question: "How many descriptors, threads and goroutines does a process that keeps running jails hold?"}
	for i, x := range []float64{1, 10, 100, 1000} {
		t.Rows = append(t.Rows, result.Row{Tool: "brig Runner: threads", X: x, N: 1, P50: []float64{8, 9, 9, 10}[i]})
		if i > 0 {
			t.Rows = append(t.Rows, result.Row{Tool: "brig Runner: descriptors per jail", X: x, N: 1, P50: 1},
				result.Row{Tool: "brig Runner: goroutines per jail", X: x, N: 1, P50: 2})
		}
	}
	return t
}
