package nsjail

import (
	"encoding/json"
	"maps"
	"syscall"
	"testing"
	"time"

	"brig/cgroup"
	"brig/nsjail/internal/launcher"
)

func exited(code int) int           { return code << 8 }
func killed(sig syscall.Signal) int { return int(sig) }
func dumped(sig syscall.Signal) int { return int(sig) | 0x80 }
func noted(change ...func(*outcome)) *outcome {
	o := &outcome{stats: cgroup.Unknown()}
	for _, f := range change {
		f(o)
	}
	return o
}

func because(why cause) func(*outcome) {
	return func(o *outcome) {
		o.why = why
		o.over.Store(why == endedOutput)
	}
}

func TestStatusIsDecidedFromFacts(t *testing.T) {
	cpu := noted(func(o *outcome) { o.cpuLimit = 2 * time.Second })
	tree := func(used time.Duration) *outcome {
		return noted(func(o *outcome) { o.cpuLimit, o.stats.CPU = 2*time.Second, used })
	}
	each := noted(func(o *outcome) { o.rlimitCPU = [2]time.Duration{time.Second, 2 * time.Second} })
	oom := func(o *outcome) { o.stats.OOMKills = 1 }
	refused := func(o *outcome) { o.stats.ProcessesRefused = 3 }
	full := func(o *outcome) { o.full = []string{"/tmp"} }
	lost := func(o *outcome) { o.lost = true }
	for name, test := range map[string]struct {
		status int
		user   time.Duration
		o      *outcome
		want   Result
	}{
		"exit 0":                      {exited(0), 0, noted(), Result{Status: StatusOK}},
		"exit 3":                      {exited(3), 0, noted(), Result{Status: StatusFailed, ExitCode: 3}},
		"exit 255":                    {exited(255), 0, noted(), Result{Status: StatusFailed, ExitCode: 255}},
		"a forged timeout":            {exited(124), 0, noted(), Result{Status: StatusFailed, ExitCode: 124}},
		"a forged signal":             {exited(137), 0, noted(), Result{Status: StatusFailed, ExitCode: 137}},
		"SIGKILL":                     {killed(syscall.SIGKILL), 0, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGSEGV with a core":         {dumped(syscall.SIGSEGV), 0, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGSEGV"}},
		"SIGSYS":                      {dumped(syscall.SIGSYS), 0, noted(), Result{Status: StatusViolation, ExitCode: -1, Signal: "SIGSYS"}},
		"the wall clock":              {killed(syscall.SIGKILL), 0, noted(because(endedWall)), Result{Status: StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true}},
		"an exit as the clock struck": {exited(0), 0, noted(because(endedWall)), Result{Status: StatusTimeout, ExitCode: -1, TimedOut: true}},
		"the context":                 {killed(syscall.SIGKILL), 0, noted(because(endedCancel)), Result{Status: StatusCancelled, ExitCode: -1, Signal: "SIGKILL"}},
		"init was killed":             {exited(1), 0, noted(func(o *outcome) { o.lost = true }), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGXCPU at the limit":        {killed(syscall.SIGXCPU), 2 * time.Second, cpu, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGKILL after the limit":     {killed(syscall.SIGKILL), 3 * time.Second, cpu, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"a forged SIGXCPU":            {killed(syscall.SIGXCPU), 1999 * time.Millisecond, cpu, Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGXCPU of RLIMIT_CPU":       {killed(syscall.SIGXCPU), time.Second, each, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGKILL of RLIMIT_CPU":       {killed(syscall.SIGKILL), 2 * time.Second, each, Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"a SIGKILL before it":         {killed(syscall.SIGKILL), 1999 * time.Millisecond, each, Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGXCPU without a limit":     {killed(syscall.SIGXCPU), time.Hour, noted(), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGXCPU"}},
		"out of memory, all killed":   {killed(syscall.SIGKILL), 0, noted(lost, oom), Result{Status: StatusMemory, ExitCode: -1, Signal: "SIGKILL"}},
		"out of memory, the payload":  {killed(syscall.SIGKILL), 0, noted(oom), Result{Status: StatusMemory, ExitCode: -1, Signal: "SIGKILL"}},
		"out of memory, its child":    {exited(137), 0, noted(oom), Result{Status: StatusMemory, ExitCode: 137}},
		"out of memory, survived":     {exited(0), 0, noted(oom), Result{Status: StatusOK}},
		"fork refused, and failed":    {exited(1), 0, noted(refused), Result{Status: StatusProcesses, ExitCode: 1}},
		"fork refused, and well":      {exited(0), 0, noted(refused), Result{Status: StatusOK}},
		"disk full, and failed":       {exited(1), 0, noted(full), Result{Status: StatusDisk, ExitCode: 1}},
		"disk full, and well":         {exited(0), 0, noted(full), Result{Status: StatusOK}},
		"too much output":             {killed(syscall.SIGKILL), 0, noted(because(endedOutput)), Result{Status: StatusOutput, ExitCode: -1, Signal: "SIGKILL"}},
		"no output for too long":      {killed(syscall.SIGKILL), 0, noted(because(endedIdle)), Result{Status: StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true}},
		"time together":               {killed(syscall.SIGKILL), 0, noted(because(endedCPU)), Result{Status: StatusCPU, ExitCode: -1, Signal: "SIGKILL"}},
		"over the time, and well":     {exited(0), 0, tree(3 * time.Second), Result{Status: StatusCPU, ExitCode: 0}},
		"within the time of all":      {killed(syscall.SIGKILL), time.Hour, tree(time.Second), Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"exit within the limit":       {exited(0), 3 * time.Second, cpu, Result{Status: StatusOK}},
	} {
		r := &Result{}
		r.setUsage(launcher.Usage{User: test.user}, &test.o.stats)
		test.o.sampled = test.user
		r.decide(test.status, test.o)
		got := Result{Status: r.Status, ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut}
		if got.Status != test.want.Status || got.ExitCode != test.want.ExitCode || got.Signal != test.want.Signal || got.TimedOut != test.want.TimedOut {
			t.Errorf("%s: %s code %d signal %q timed out %v", name, got.Status, got.ExitCode, got.Signal, got.TimedOut)
		}
	}
}

func TestResultAsJSON(t *testing.T) {
	r := &Result{Status: StatusOK, SpecDigest: "d"}
	r.setUsage(launcher.Usage{User: 1500 * time.Microsecond, System: 2 * time.Millisecond, MaxRSS: 4096, Voluntary: 1, Involuntary: 2, MajorFaults: 3}, &noted().stats)
	r.Usage.Wall = Millis(1234567 * time.Nanosecond)
	got, err := json.Marshal(r)
	want := `{"status":"ok","exit_code":0,"timed_out":false,"usage":{"wall_ms":1.234,"user_ms":1.5,"system_ms":2,"max_rss_bytes":4096,` +
		`"voluntary_switches":1,"involuntary_switches":2,"major_faults":3,"disk_bytes":0},"output":{"stdout_bytes":0,"stdout_dropped":0,"stderr_bytes":0,"stderr_dropped":0},` +
		`"phases_us":{"look":0,"resolve":0,"prepare":0,"spawn":0,"exec":0,"run":0,"end":0},"spec_digest":"d"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestWallCoversProcessorTime: one thread cannot have used more processor time than has passed.
func TestWallCoversProcessorTime(t *testing.T) {
	plain := runnerWith(t, RunnerOptions{})
	for way, c := range map[string]func() *Cmd{"cold": func() *Cmd { return Command("true") }, "runner": func() *Cmd { return plain.Command("true") }} {
		for range 5 {
			_, r := mustRun(t, c())
			if r.Usage.Wall < r.Usage.User+r.Usage.System {
				t.Errorf("%s: %s of the clock, %s of a processor", way, time.Duration(r.Usage.Wall), time.Duration(r.Usage.User+r.Usage.System))
			}
		}
	}
}

// TestCountedLimits: a Result can name the limits that the table calls counted, and the disks.
func TestCountedLimits(t *testing.T) {
	named := map[string]bool{}
	for _, why := range []cause{endedWall, endedIdle, endedCPU} {
		o := noted(because(why), func(o *outcome) {
			o.over.Store(true)
			o.full = []string{"/tmp"}
			o.stats.OOMKills, o.stats.OOMOwn, o.stats.MemoryAboveHigh = 1, 1, 1
			o.stats.ThrottledPeriods, o.stats.ProcessesRefused = 1, 1
		})
		for _, name := range (&Result{}).limitsHit(0, o, true) {
			named[name] = true
		}
	}
	want := map[string]bool{"disk": true}
	for _, r := range LimitTable() {
		if r.Counted {
			want[r.Name] = true
		}
	}
	if !maps.Equal(named, want) {
		t.Errorf("a Result can name %v, and the table %v", named, want)
	}
}
