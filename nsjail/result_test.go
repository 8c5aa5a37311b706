package nsjail

import (
	"encoding/json"
	"testing"
	"time"

	"brig/nsjail/internal/launcher"
)

func TestResultAsJSON(t *testing.T) {
	r := &Result{Status: StatusOK, SpecDigest: "d"}
	r.setUsage(launcher.Usage{User: 1500 * time.Microsecond, System: 2 * time.Millisecond, MaxRSS: 4096, Voluntary: 1, Involuntary: 2, MajorFaults: 3}, &noted().group)
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
