package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/denial"
	"brig/internal/test/must"
	"brig/netns/egress"
	"brig/nsjail"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// answer is an Executor that returns one Result.
type answer struct {
	result *nsjail.Result
	err    error
	seen   func()
}

func (a answer) Execute(context.Context, *job.Job) (*nsjail.Result, error) {
	if a.seen != nil {
		a.seen()
	}
	return a.result, a.err
}

func all() Options {
	return Options{Version: "1.2.3", Sandboxes: func() int { return 7 }, Depth: func() int { return 5 },
		Running: func() int { return 3 },
		Live:    func() (float64, float64) { return 4096, 2 }, AuditBroken: func() bool { return true },
		Warm: func() []Warmth {
			return []Warmth{{Language: "python", Parked: 4, Memory: 8192, Taken: 6, Missed: 5, Failed: 1}}
		}}
}

// run executes one Job.
func run(t *testing.T, m *Metrics, a answer, j *job.Job) {
	t.Helper()
	r, err := m.Wrap(a).Execute(t.Context(), j)
	if r != a.result || err != a.err {
		t.Errorf("the wrapper gives %v, %v", r, err)
	}
}

// page is what a scrape reads.
func page(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// has requires lines.
func has(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(page, "\n"+l+"\n") {
			t.Errorf("the line %q is missing", l)
		}
	}
}

func TestRun(t *testing.T) {
	m := New(all())
	active := 0.0
	result := &nsjail.Result{Status: nsjail.StatusViolation, LimitsHit: []string{"wall", "cpus", "brand new"},
		Violation: &nsjail.Violation{Count: 3},
		Denials:   []denial.Denial{{Layer: "syscall", Count: 40}, {Layer: "syscall", Count: 2}, {Layer: "network", Count: 9}},
		Usage: nsjail.Usage{User: 2e9, System: 5e8, Throttled: 1e9, ThrottledPeriods: 4, OOMKills: 2, MemoryPeak: 300 << 20,
			MaxRSS: 1 << 20,
			IORead: 10, IOWritten: 20},
		Output: nsjail.Output{StdoutBytes: 5, StderrBytes: 6, StdoutDropped: 1, StderrDropped: 1},
		Phases: nsjail.Phases{Look: 300, Resolve: 200, Exec: 2000},
		Network: &egress.Summary{ByVerdict: map[egress.Verdict]int{egress.VerdictAllow: 4, egress.VerdictDeny: 9,
			egress.VerdictError: 1, "odd": 1},
			Sent: 100, Received: 1000, Unrecorded: 1, LinesDropped: 2}}
	run(t, m, answer{result: result, seen: func() { active = testutil.ToFloat64(m.active) }},
		&job.Job{Agent: "an agent's name"})
	if active != 1 || testutil.ToFloat64(m.active) != 0 {
		t.Errorf("active: %v while it runs, %v afterwards", active, testutil.ToFloat64(m.active))
	}
	p := page(t, m)
	has(t, p, `sandbox_executions_total{status="violation"} 1`, `sandbox_executions_total{status="ok"} 0`,
		`sandbox_executions_total{status="refused"} 0`,
		`sandbox_violations_total{type="syscall"} 45`, `sandbox_violations_total{type="network"} 9`,
		`sandbox_limits_hit_total{limit="wall"} 1`,
		`sandbox_limits_hit_total{limit="other"} 1`, `sandbox_cpu_user_seconds_total 2`,
		`sandbox_cpu_system_seconds_total 0.5`,
		`sandbox_cpu_throttled_seconds_total 1`, `sandbox_cpu_throttled_periods_total 4`, `sandbox_oom_kills_total 2`,
		`sandbox_memory_peak_bytes_bucket{le="2.68435456e+08"} 0`, `sandbox_memory_peak_bytes_bucket{le="1.073741824e+09"} 1`,
		`sandbox_io_read_bytes_total 10`, `sandbox_io_written_bytes_total 20`, `sandbox_output_bytes_total 11`,
		`sandbox_output_dropped_bytes_total 2`,
		`sandbox_egress_attempts_total{verdict="allow"} 4`, `sandbox_egress_attempts_total{verdict="deny"} 9`,
		`sandbox_egress_sent_bytes_total 100`,
		`sandbox_egress_received_bytes_total 1000`, `sandbox_egress_unrecorded_total 3`, `sandbox_execution_seconds_count 1`,
		`sandbox_start_phase_seconds_count{phase="exec"} 1`, `sandbox_work_areas 7`, `sandbox_live_memory_bytes 4096`,
		`sandbox_live_tasks 2`, `sandbox_warm_parked{language="python"} 4`,
		`sandbox_warm_memory_bytes{language="python"} 8192`, `sandbox_warm_taken_total{language="python"} 6`,
		`sandbox_warm_missed_total{language="python"} 5`, `sandbox_warm_failed{language="python"} 1`, `sandbox_queue_depth 5`, `sandbox_running 3`,
		`sandbox_audit_failures_total 0`, `sandbox_audit_broken 1`)
	for _, bucket := range []string{"0.1", "0.5", "1", "5", "10", "30", "+Inf"} {
		if !strings.Contains(p, `sandbox_execution_seconds_bucket{le="`+bucket+`"}`) {
			t.Errorf("no bucket %s", bucket)
		}
	}
	for _, gone := range []string{"an agent's name", "brand new", "odd"} {
		if strings.Contains(p, gone) {
			t.Errorf("%q is in a label", gone)
		}
	}
	if !regexp.MustCompile(`(?m)^brigd_build_info\{goarch="\w+",goversion="go[^"]+",version="1\.2\.3"\} 1$`).MatchString(
		p) {
		t.Error("no build info")
	}
}

func TestOtherEnds(t *testing.T) {
	m := New(Options{})
	// all unknown: negative
	run(t, m, answer{result: &nsjail.Result{Status: nsjail.StatusOK, Usage: nsjail.NoUsage()}}, &job.Job{})
	no := &job.Refusal{Layer: "policy"}
	run(t, m, answer{err: no}, &job.Job{Verdict: job.Verdict{Refusal: no}})
	run(t, m, answer{err: &job.Refusal{Layer: "made up"}}, &job.Job{})
	run(t, m, answer{err: &job.Refusal{Layer: "audit"}}, &job.Job{})
	run(t, m, answer{err: errors.New("no jail")}, &job.Job{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Wrap(answer{err: ctx.Err()}).Execute(ctx, &job.Job{}); err == nil {
		t.Error("no error")
	}
	m.Waited(2e9)
	m.Rejected("queue_full")
	m.Rejected("something else")
	p := page(t, m)
	has(t, p, `sandbox_executions_total{status="ok"} 1`, `sandbox_executions_total{status="refused"} 3`,
		`sandbox_audit_failures_total 1`, `sandbox_executions_total{status="error"} 1`,
		`sandbox_executions_total{status="cancelled"} 1`, `sandbox_refusals_total{layer="policy"} 1`,
		`sandbox_refusals_total{layer="other"} 1`,
		`sandbox_rejected_total{reason="queue_full"} 1`, `sandbox_rejected_total{reason="other"} 1`,
		`sandbox_queue_wait_seconds_bucket{le="1"} 0`,
		`sandbox_queue_wait_seconds_bucket{le="5"} 1`, `sandbox_cpu_user_seconds_total 0`,
		`sandbox_execution_seconds_count 1`)
	if strings.Contains(p, "sandbox_work_areas") {
		t.Error("a figure that nobody gives is shown")
	}
}

// A request that is refused before it is a Job counts once, and so does one that is a Job.
func TestRequest(t *testing.T) {
	m := New(Options{})
	no := &job.Refusal{Layer: "policy"}
	for _, becomes := range []bool{false, true} {
		ctx, done := m.Request(t.Context())
		if becomes {
			if _, err := m.Wrap(answer{err: no}).Execute(ctx, &job.Job{Verdict: job.Verdict{Refusal: no}}); err == nil {
				t.Error("it has run")
			}
		}
		done(no)
		done(nil)
	}
	has(t, page(t, m), `sandbox_executions_total{status="refused"} 2`, `sandbox_refusals_total{layer="policy"} 2`)
}

// The client library has promtool's own checks.
func TestNames(t *testing.T) {
	problems := must.Get(testutil.GatherAndLint(New(all()).registry))(t)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") == "true" && os.Getenv("BRIG_NEED_PROMTOOL") == "1" {
			t.Fatal("promtool is not installed; install Debian's prometheus")
		}
		t.Skip("promtool is not installed; Debian's package prometheus has it")
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(page(t, New(all())))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const dashboard = "../../../docs/grafana/brigd.json"

// Every metric that the dashboard asks for exists, and every one of ours is on it.
func TestDashboard(t *testing.T) {
	text := must.Get(os.ReadFile(dashboard))(t)
	var d struct {
		Title  string `json:"title"`
		UID    string `json:"uid"`
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	must.Do(t, json.Unmarshal(text, &d))
	families := must.Get(New(all()).registry.Gather())(t)
	series := map[string]string{} // the names that a query may have, and their family
	for _, f := range families {
		name := f.GetName()
		series[name] = name
		if f.GetType().String() == "HISTOGRAM" {
			delete(series, name)
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				series[name+suffix] = name
			}
		}
	}
	shown, ids := map[string]bool{}, []int{}
	names := regexp.MustCompile(`\b(?:sandbox|active|brigd|process|go)_[a-z0-9_]+`)
	for _, p := range d.Panels {
		if slices.Contains(ids, p.ID) {
			t.Errorf("panel id %d is there twice", p.ID)
		}
		ids = append(ids, p.ID)
		for _, target := range p.Targets {
			found := names.FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: no metric in %q", p.Title, target.Expr)
			}
			for _, n := range found {
				if series[n] == "" {
					t.Errorf("%s: there is no metric %s", p.Title, n)
				}
				shown[series[n]] = true
			}
		}
	}
	for _, f := range families {
		if n := f.GetName(); !shown[n] && !strings.HasPrefix(n, "go_") && !strings.HasPrefix(n, "process_") {
			t.Errorf("%s is on no panel", n)
		}
	}
	if d.Title == "" || d.UID == "" || len(d.Panels) < 8 {
		t.Errorf("title %q, uid %q, %d panels", d.Title, d.UID, len(d.Panels))
	}
}
