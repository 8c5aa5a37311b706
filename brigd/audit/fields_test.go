package audit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/brigd/job"
	"brig/internal/test/must"
	"brig/netns/egress"
	"brig/nsjail"
)

// ended is an Executor that runs nothing and reports many failures.
type ended struct{}

func (ended) Execute(context.Context, *job.Job) (*nsjail.Result, error) {
	return &nsjail.Result{Status: nsjail.StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true, LimitsHit: []string{"wall"}, Usage: nsjail.NoUsage(),
		Output: nsjail.Output{StdoutBytes: 7, StderrBytes: 8, StderrDropped: 9}, Violation: &nsjail.Violation{Syscall: "mount", Count: 2},
		Network: &egress.Summary{Total: 3, ByVerdict: map[egress.Verdict]int{egress.VerdictDeny: 3}}}, nil
}

// TestAuditSaysHowARunEnded: what the articles ask of an audit log is in the line of a run's end.
func TestAuditSaysHowARunEnded(t *testing.T) {
	path, begin := filepath.Join(t.TempDir(), "audit.jsonl"), time.Now().Truncate(time.Millisecond)
	log, err := Open(Options{Path: path})
	must.Do(t, err)
	defer log.Close()
	must.Get(Wrap(ended{}, log).Execute(t.Context(), &job.Job{ID: "r"}))(t)
	text, err := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	for _, want := range []string{`"event":"run.end"`, `"status":"timeout"`, `"exit_code":-1`, `"signal":"SIGKILL"`, `"timed_out":true`, `"limits_hit":["wall"]`, `"stdout_bytes":7`,
		`"stderr_bytes":8`, `"stderr_dropped":9`, `"syscall":"mount"`, `"by_verdict":{"deny":3}`} {
		if !strings.Contains(last, want) {
			t.Errorf("no %s in %s (%v)", want, last, err)
		}
	}
	var line Line
	if err := json.Unmarshal([]byte(last), &line); err != nil || line.Time.Before(begin) || line.Time.After(time.Now()) {
		t.Errorf("time %v, %v", line.Time, err)
	}
}
