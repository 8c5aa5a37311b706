package policy

import (
	"reflect"
	"testing"

	"brig/brigd/job"
	"brig/internal/test/must"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// The profile any changes nothing and refuses nothing that nsjail takes.
func TestAnyIsNeutral(t *testing.T) {
	p := must.Get(LoadProfile("", "any"))(t)
	s := nsjail.Spec{Args: []string{"/work/x"}, Env: []string{"LD_PRELOAD=x", "API_KEY=y"}, PassEnv: []string{"*"},
		User: "0", TTY: true, NoInit: true, Seccomp: "unconfined",
		Net: nsjail.NetEgress, Egress: &egress.Policy{Allow: []egress.Rule{{CIDR: "192.0.2.1",
			Ports: []egress.Ports{{From: 123, To: 123}}, Mode: egress.ModeUDP}}, DNS: []string{"10.0.0.1"}},
		Publish:  []string{"0.0.0.0:80:80"},
		Mounts:   []nsjail.Mount{{Type: nsjail.MountBind, Source: "/etc", Target: "/usr", Writable: true}},
		Optional: []string{"user"}, CgroupParent: "/x",
		Limits: nsjail.Limits{Wall: -1, Processes: -1, CPUWeight: 9, Cgroup: []string{"a.b=c"},
			Rlimits: map[string]spec.Rlimit{"core": {Soft: -1, Hard: -1}}}}
	if problems := s.Check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	j := &job.Job{Spec: s}
	if p.Decide(j); j.Verdict.Refusal != nil || len(j.Verdict.Narrowed) > 0 || !reflect.DeepEqual(j.Spec, s) {
		t.Error(j.Verdict, string(j.Spec.JSON()))
	}
	if r := p.CheckOperation("delete"); r != nil {
		t.Error(r)
	}
}

// What an open policy mentions it judges, and an empty list is a mention, also after JSON.
func TestOpenPoliciesJudgeWhatTheyMention(t *testing.T) {
	egressSpec := nsjail.Spec{Args: []string{"id"}, Net: nsjail.NetEgress,
		Egress: &egress.Policy{AllowedHosts: []string{"example.org"}}}
	bind := nsjail.Spec{Args: []string{"id"},
		Mounts: []nsjail.Mount{{Type: nsjail.MountBind, Source: "/etc", Target: "/work", Writable: true}}}
	for text, c := range map[string]struct {
		s  nsjail.Spec
		ok bool
	}{
		`{"open":true,"commands":[]}`:                                  {nsjail.Spec{Args: []string{"id"}}, false},
		`{"extends":"any","commands":["id"]}`:                          {nsjail.Spec{Args: []string{"id"}}, true},
		`{"extends":"any","commands":["ls"]}`:                          {nsjail.Spec{Args: []string{"id"}}, false},
		`{"extends":"any","languages":[]}`:                             {nsjail.Spec{Args: []string{"id"}}, true},
		`{"extends":"any","network":{"modes":["none"]}}`:               {egressSpec, false},
		`{"extends":"any","network":{"egress":{}}}`:                    {egressSpec, false},
		`{"extends":"any","network":{"egress":{"allow":["*.org"]}}}`:   {egressSpec, true},
		`{"extends":"any","network":{"egress":{"allow":["*.b","*"]}}}`: {egressSpec, true},
		`{"extends":"any","paths":{"read":["/etc"]}}`:                  {bind, false}, // to write is not to read
		`{"extends":"any","paths":{"write":["/etc"]}}`:                 {bind, true},
		`{"extends":"any","paths":{"targets":[]}}`:                     {bind, true}, // the work areas
		`{"extends":"any","environment":{"set":[]}}`: {nsjail.Spec{Args: []string{"id"},
			Env: []string{"A=b"}}, false},
		`{"extends":"any","features":[]}`:                          {nsjail.Spec{Args: []string{"id"}, TTY: true}, false},
		`{"extends":"any","seccomp":[]}`:                           {nsjail.Spec{Args: []string{"id"}}, false},
		`{"extends":"any","open":false}`:                           {nsjail.Spec{Args: []string{"id"}}, false},
		`{"extends":"minimal","open":true,"languages":["python"]}`: {nsjail.Spec{Args: []string{"bash"}}, false},
	} {
		p := parsed(t, text)
		data := must.Get(p.JSON())(t)
		for _, p := range []*Policy{p, parsed(t, string(data))} {
			if j := decided(t, p, c.s); (j.Verdict.Refusal == nil) != c.ok {
				t.Errorf("%s: %v", text, j.Verdict.Refusal)
			}
		}
	}
}

// A Policy that was not parsed from JSON has the same defaults as one that was.
func TestAPolicyNeedNotBeRead(t *testing.T) {
	p := &Policy{Commands: []Command{{Command: "ls"}}}
	if j := decided(t, p, nsjail.Spec{Args: []string{"ls"}}); j.Verdict.Refusal != nil {
		t.Error(j.Verdict.Refusal)
	}
	for _, bad := range []*Policy{{}, {Commands: []Command{{Command: "a b"}}},
		{Commands: []Command{{Command: "ls"}}, Limits: Limits{Wall: -1}}} {
		if j := decided(t, bad, nsjail.Spec{Args: []string{"ls"}}); j.Verdict.Refusal == nil {
			t.Errorf("%+v allowed it", bad)
		}
	}
}

// A sealed policy decides the same; what is wrong with a policy cannot be sealed, and refuses every run.
func TestSeal(t *testing.T) {
	p := parsed(t, `{"name":"p","commands":["echo"],"seccomp":["default"],"network":{"modes":["loopback"]}}`)
	for range 2 {
		for command, want := range map[string]string{"echo": "", "cat": "command_not_allowed"} {
			code := ""
			if r := decided(t, p, nsjail.Spec{Args: []string{command}}).Verdict.Refusal; r != nil {
				code = r.Code
			}
			if code != want {
				t.Errorf("%s: %s", command, code)
			}
		}
		must.Do(t, p.Seal())
	}
	bad := parsed(t, `{"name":"p","commands":["cat"]}`)
	bad.Features = []string{"no-such-feature"}
	if err := bad.Seal(); err == nil {
		t.Error("an unknown feature was sealed")
	}
	if r := decided(t, bad, nsjail.Spec{Args: []string{"cat"}}).Verdict.Refusal; r == nil || r.Code != "invalid_policy" {
		t.Errorf("%v", r)
	}
}

// What allows everything allows nothing less than a list.
func TestDiffKnowsAny(t *testing.T) {
	list, all := parsed(t, `{"commands":["echo","cat"]}`), parsed(t, `{"commands":["*"]}`)
	for _, c := range Diff(list, all) {
		if c.Field == "commands" && (len(c.Less) > 0 || len(c.More) != 1) {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range Diff(all, list) {
		if c.Field == "commands" && (len(c.More) > 0 || len(c.Less) != 1) {
			t.Errorf("%+v", c)
		}
	}
}
