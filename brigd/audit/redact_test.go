package audit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/denial"
	"brig/netns/egress"
	"brig/nsjail"
)

// A secret that a Job knows is in no event, wherever a caller or a payload has put it, nor a part of it where a text is
// cut.
func TestSecretsAreTakenOut(t *testing.T) {
	const secret = "hunter2-hunter2"
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, Options{Path: path, Argv: true})
	long := strings.Repeat("x", maxText-8) + secret
	with := func(id string) *job.Job {
		j := newJob(id)
		j.Redact = func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }
		j.Language = secret
		j.Spec.Args = []string{"sh", "-c", "echo " + secret, strings.Repeat("y", maxArgv-30) + secret}
		j.Verdict.Narrowed = []string{"env: " + secret + " is dropped"}
		return j
	}
	refused := with("refused")
	refused.Refuse(&job.Refusal{Message: long, Layer: "policy", Rule: "minimal: " + secret})
	outcomes := []executor{
		func(*job.Job) (*nsjail.Result, error) { return nil, errors.New(long) },
		func(*job.Job) (*nsjail.Result, error) {
			return nil, &job.Refusal{Message: secret, Layer: "queue", Rule: secret}
		},
		func(*job.Job) (*nsjail.Result, error) {
			return &nsjail.Result{Status: nsjail.StatusError, Usage: nsjail.NoUsage(),
				Error:   &nsjail.Error{Op: "exec", Detail: secret},
				Denials: []denial.Denial{{Layer: "network", Name: secret + ".example:443", Count: 1}},
				Network: &egress.Summary{Total: 3, ByHost: map[string]int{secret + ".example": 1, "[redacted].example": 2}}}, nil
		},
	}
	if _, err := Wrap(&echo{}, l).Execute(context.Background(), refused); err == nil {
		t.Error("ran")
	}
	for _, f := range outcomes {
		j := with("r")
		_, _ = Wrap(f, l).Execute(context.Background(), j)
		if j.Spec.Args[2] != "echo "+secret || !strings.Contains(j.Verdict.Narrowed[0], secret) {
			t.Error("the Job itself was changed")
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte("hunter")) {
		t.Errorf("the log holds a secret, or a part of one: %v", err)
	}
	list, _ := lines(t, path)
	if want := []string{LogOpen, RunRefused, RunStart, RunEnd, RunStart, RunEnd, RunStart,
		RunEnd}; !slices.Equal(kinds(list), want) {
		t.Fatal(kinds(list))
	}
	const mark = "[redacted]"
	first, failed, no, ended := list[1], list[3], list[5], list[7]
	for what, s := range map[string]string{"rule": first.Verdict.Rule, "refusal": no.Verdict.Error,
		"refusal's rule": no.Verdict.Rule, "error": no.Error,
		"result's error": ended.Error, "argument": first.Argv[2], "narrowed": first.Verdict.Narrowed[0],
		"language": failed.Language, "denial": ended.Denials[0].Name} {
		if !strings.Contains(s, mark) {
			t.Errorf("%s: %q", what, s)
		}
	}
	if !strings.Contains(failed.Error, "[redact") || ended.Network.ByHost[mark+".example"] != 3 ||
		first.ArgvDigest == digest([]byte(strings.Join(first.Argv, "\x00")+"\x00")) {
		t.Errorf("%q %v", failed.Error, ended.Network)
	}
}
