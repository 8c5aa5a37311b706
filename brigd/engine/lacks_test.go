package engine

import (
	"strings"
	"testing"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// What a policy asks for is no reason to send another request.
func TestHostRefusalBlamesWhoAsked(t *testing.T) {
	lacks := &nsjail.Error{Fault: spec.FaultHost, Op: "limits.memory", Detail: "/sys/fs/cgroup/x has none",
		Remedy: "sudo make one"}
	for _, c := range []struct {
		r     *Request
		blame bool
	}{{&Request{Memory: 1 << 20}, true}, {&Request{CPUs: 1}, false}, {&Request{}, false}} {
		no := answer(&job.Job{}, c.r, nil, lacks).Error
		steps := strings.Join(no.NextSteps, "\n")
		if no.Code != "host_lacks" || strings.Contains(steps, "send the request without") != c.blame ||
			strings.Contains(steps, "no other request will do") == c.blame ||
			!strings.Contains(steps, "tell the operator") {
			t.Errorf("%+v: %s", c.r, steps)
		}
		if text := no.Message + steps; strings.Contains(text, "/sys") || strings.Contains(text, "sudo") {
			t.Errorf("a path or a command of the host: %s", text)
		}
	}
}

// A want of what every run asks for is found without a run, and all of it at once.
func TestLacks(t *testing.T) {
	e := newEngine(t, Options{})
	if err := e.Lacks(); err != nil {
		t.Errorf("without a policy: %v", err)
	}
	wants := func(doc string) error {
		return newEngine(t, Options{Policies: []*policy.Policy{parsed(t, doc)}}).Lacks()
	}
	err := wants(`{"open":true,"limits":{"memory":"64m","cpus":1}}`)
	if err == nil {
		return // this machine holds both; as an ordinary user it mostly does not
	}
	if said := err.Error(); !strings.HasSuffix(said, `optional: ["memory","cpus"]`) || strings.Count(said, "optional: ") != 1 {
		t.Error(said)
	}
	if err := wants(`{"open":true,"limits":{"memory":"64m"},"require":["memory"]}`); err == nil ||
		!strings.Contains(err.Error(), "a policy requires memory") || strings.Contains(err.Error(), "optional: ") {
		t.Error(err)
	}
}
