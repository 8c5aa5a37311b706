package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"brig/brigd/job"
	"brig/netns/egress"
	rules "brig/netns/egress/policy"
	"brig/nsjail"
)

// ended is an Executor that runs nothing, remembers what was to be run and reports many failures.
type ended struct{ spec *nsjail.Spec }

func (e ended) Execute(_ context.Context, j *job.Job) (*nsjail.Result, error) {
	*e.spec = j.Spec
	return &nsjail.Result{Status: nsjail.StatusTimeout, ExitCode: -1, Signal: "SIGKILL", TimedOut: true, LimitsHit: []string{"wall"}, Usage: nsjail.NoUsage(),
		Violation: &nsjail.Violation{Syscall: "mount", Count: 2},
		Network: &egress.Summary{Total: 3, ByVerdict: map[egress.Verdict]int{egress.VerdictDeny: 3},
			ByReason: map[rules.Reason]int{rules.ReasonBlocked: 3}}}, nil
}

// TestRequestAndAnswer: the fields of a request are those of the jail, and the fields of a jail's result are in the
// answer.
func TestRequestAndAnswer(t *testing.T) {
	var s nsjail.Spec
	e := newEngine(t, Options{Wrap: func(job.Executor) job.Executor { return ended{&s} }})
	var r Request
	if err := json.Unmarshal([]byte(`{"cmd":["id"],"memory":"64m","cpus":0.5,"timeout":90,"env":{"A":"b"},"cwd":"/tmp","network":["example.org:443"]}`), &r); err != nil {
		t.Fatal(err)
	}
	a := e.Run(t.Context(), Caller{}, &r, nil)
	want := "[id] 64m 0.5 1m30s [A=b] /tmp egress [example.org:443] timeout -1 SIGKILL true [wall] [{syscall mount 2} {network " + string(rules.ReasonBlocked) + " 3}]\n"
	if text := fmt.Sprintln(s.Args, s.Limits.Memory, s.Limits.CPUs, s.Limits.Wall, s.Env, s.Workdir, s.Net, s.Egress.Allow, a.Status, a.ExitCode, a.Signal, a.TimedOut, a.LimitsHit, a.Violations); text != want {
		t.Errorf("got %swant %s%+v", text, want, a.Error)
	}
	r = Request{Cmd: []string{"id"}}
	if e.Run(t.Context(), Caller{}, &r, nil); s.Net != "" || s.Egress != nil || s.Limits.Wall != DefaultTimeout {
		t.Errorf("a request that asks for nothing: %+v", s)
	}
}
