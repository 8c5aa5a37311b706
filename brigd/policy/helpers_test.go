package policy

import (
	"testing"

	"brig/brigd/job"
	"brig/nsjail"
)

// parsed reads a policy that must be right.
func parsed(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// decided runs one policy over a Spec.
func decided(t testing.TB, p *Policy, s nsjail.Spec) *job.Job {
	t.Helper()
	j := &job.Job{Spec: s}
	p.Decide(j)
	if r := j.Verdict.Refusal; r != nil &&
		(r.Layer != "policy" && r.Code != "invalid_request" || r.Code == "" || r.Message == "" || r.Rule == "" ||
			len(r.NextSteps) == 0 || r.NextSteps[0] == "") {
		t.Errorf("a refusal that nobody can act on: %+v", r)
	}
	return j
}
