package policy

import (
	"slices"
	"testing"

	"brig/brigd/job"
	"brig/nsjail"
)

// The rules of a subject are judged alone: they know only whose they are, and whether what is absent is allowed.
func TestRulesAlone(t *testing.T) {
	const mine = "mine"
	shut, ajar := rule{mine, false}, rule{mine, true}
	custom, limits := &nsjail.Spec{Seccomp: "custom"}, &Limits{}
	env := &job.Job{Spec: nsjail.Spec{Env: []string{"LC_ALL=C"}}}
	tty := &job.Job{Spec: nsjail.Spec{TTY: true}}
	for what, c := range map[string]struct {
		no   *job.Refusal
		want string // the code, "" if it is allowed
	}{
		"no filters":            {(&filterRules{shut, nil}).judge(custom), "seccomp_not_allowed"},
		"any filter":            {(&filterRules{ajar, nil}).judge(custom), ""},
		"this filter":           {(&filterRules{ajar, []string{"custom"}}).judge(custom), ""},
		"no variables":          {(&variableRules{shut, Environment{}}).judge(env), "variable_not_allowed"},
		"these variables":       {(&variableRules{shut, Environment{Set: []string{"LC_*"}}}).judge(env), ""},
		"no features":           {(&featureRules{shut, nil, limits}).judge(tty), "feature_not_allowed"},
		"this feature":          {(&featureRules{shut, []string{"tty"}, limits}).judge(tty), ""},
		"a network":             {(&networkRules{shut, Network{}}).judge(&nsjail.Spec{Net: nsjail.NetHost}), "network_not_allowed"},
		"code of many bytes":    {(&inputRules{shut, Inputs{CodeBytes: 3}}).code(4), "input_too_large"},
		"an operation":          {(&sandboxRules{rule: shut}).operation("create"), "operation_not_allowed"},
		"an unknown operation":  {(&sandboxRules{rule: ajar}).operation("fly"), "operation_not_allowed"},
		"a life":                {(&sandboxRules{rule: ajar}).operation("live"), ""},
		"a life without an end": {(&sandboxRules{rule: ajar, timed: true}).operation("live"), "operation_not_allowed"},
		"a life that is named":  {(&sandboxRules{ajar, Sandbox{Operations: []string{"live"}}, true}).operation("live"), ""},
		"an image among others": {(&fileRules{rule: shut, images: []string{"a"}}).root(&job.Job{Image: &job.Image{Name: "b"}}, nil), "image_not_allowed"},
	} {
		code := ""
		if c.no != nil {
			code = c.no.Code
		}
		if code != c.want || c.no != nil && (c.no.Layer != "policy" || c.no.Rule[:len(mine)] != mine) {
			t.Errorf("%s: %+v, want %q", what, c.no, c.want)
		}
	}
}

// What a run may do without is cut to what the policy lists, and never has what it requires.
func TestMechanismsAlone(t *testing.T) {
	for _, c := range []struct {
		open                        bool
		require, optional, has, got []string
	}{
		{false, nil, nil, []string{"seccomp"}, nil},
		{false, nil, []string{"seccomp"}, []string{"seccomp", "landlock"}, []string{"seccomp"}},
		{true, nil, nil, []string{"seccomp"}, []string{"seccomp"}},
		{true, []string{"seccomp"}, nil, []string{"seccomp"}, nil},
	} {
		s := nsjail.Spec{Optional: c.has}
		(&mechanismRules{rule{"p", c.open}, c.require, c.optional, &limitRules{}}).narrow(&s)
		if !slices.Equal(s.Optional, c.got) || !slices.Equal(s.Require, c.require) {
			t.Errorf("%+v: optional %v, required %v", c, s.Optional, s.Require)
		}
	}
}
