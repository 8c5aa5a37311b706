package policycmd

import (
	"fmt"
	"strings"

	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/nsjail/spec"
)

// answer is what a subcommand answers.
type answer struct {
	code  int      // the exit code
	value any      // for --json; nil if raw is JSON
	lines []string // otherwise, without line ends
	raw   []byte   // after the lines
}

func (a *answer) say(format string, v ...any) { a.lines = append(a.lines, fmt.Sprintf(format, v...)) }

// profile is a line of list.
type profile struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Error       string `json:"error,omitempty"` // why it cannot be used
}

func (c *command) list([]string) (a answer, err error) {
	names, err := policy.Profiles(c.dir)
	if err != nil {
		return a, err
	}
	profiles := []profile{}
	for _, name := range names {
		p, err := policy.LoadProfile(c.dir, name)
		if err != nil {
			profiles = append(profiles, profile{Name: name, Error: err.Error()})
			a.say("%-16s cannot be used: %v", name, err)
			continue
		}
		profiles = append(profiles, profile{Name: name, Description: p.Description})
		a.say("%-16s %s", name, p.Description)
	}
	a.value = map[string]any{"profiles": profiles}
	return a, nil
}

// show answers in JSON, which is printable except for U+0080 to U+009F. Terminals ignore these in UTF-8.
func (c *command) show(policies []string) (a answer, err error) {
	p, err := c.load(policies[0])
	if err != nil {
		return a, err
	}
	data, err := p.JSON()
	return answer{raw: append(data, '\n')}, err
}

func (c *command) schema([]string) (answer, error) { return answer{raw: policy.SchemaFile}, nil }

// linted holds the findings of lint for one policy.
type linted struct {
	Policy   string           `json:"policy"`
	Findings []policy.Finding `json:"findings"`
}

func (c *command) lint(policies []string) (a answer, err error) {
	if len(policies) == 0 {
		if policies, err = policy.Profiles(c.dir); err != nil {
			return a, err
		}
	}
	all, errors, warnings := []linted{}, 0, 0
	for _, what := range policies {
		one := linted{what, []policy.Finding{}}
		if p, err := c.load(what); err != nil {
			one.Findings = append(one.Findings, policy.Finding{Level: "error", Message: err.Error()})
		} else {
			one.Findings = append(one.Findings, policy.Lint(p)...)
		}
		for _, f := range one.Findings {
			if f.Level == "error" {
				errors++
			} else {
				warnings++
			}
			a.say("%s: %s: %s", what, f.Level, strings.TrimPrefix(f.Path+": "+f.Message, ": "))
		}
		all = append(all, one)
	}
	a.say("%d errors, %d warnings in %d policies", errors, warnings, len(all))
	a.value = map[string]any{"policies": all, "errors": errors, "warnings": warnings}
	if errors > 0 || c.strict && warnings > 0 {
		a.code = exitNo
	}
	return a, nil
}

func (c *command) diff(policies []string) (a answer, err error) {
	from, err := c.load(policies[0])
	if err != nil {
		return a, err
	}
	to, err := c.load(policies[1])
	if err != nil {
		return a, err
	}
	changes := append([]policy.Change{}, policy.Diff(from, to)...)
	a.value = map[string]any{"from": policies[0], "to": policies[1], "changes": changes}
	if len(changes) == 0 {
		a.say("%s allows what %s allows", policies[1], policies[0])
		return a, nil
	}
	a.code = exitNo
	for _, ch := range changes {
		if len(ch.More) > 0 {
			a.say("%-24s more: %s", ch.Field, strings.Join(ch.More, ", "))
		}
		if len(ch.Less) > 0 {
			a.say("%-24s less: %s", ch.Field, strings.Join(ch.Less, ", "))
		}
	}
	return a, nil
}

func (c *command) explain(policies []string) (a answer, err error) {
	p, err := c.load(policies[0])
	if err != nil {
		return a, err
	}
	if c.spec == "" && c.language == "" && c.rest == nil {
		a.lines = policy.Explain(p)
		a.value, err = policy.ExplainJSON(p)
		return a, err
	}
	j, err := c.job()
	if err != nil {
		return a, err
	}
	p.Decide(j)
	return verdict(j), nil
}

// job returns the run to explain.
func (c *command) job() (*job.Job, error) {
	j := &job.Job{Language: c.language}
	if c.spec != "" {
		data, err := c.read(c.spec)
		if err != nil {
			return nil, err
		}
		s, err := spec.ParseSpec(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.spec, err)
		}
		j.Spec = *s
	}
	if c.rest != nil {
		j.Spec.Args = c.rest
	}
	if c.language != "" && len(j.Spec.Args) == 0 {
		j.Spec.Args = []string{c.language} // package lang chooses the command for a language
	}
	return j, nil
}

// verdict returns the answer about a run that a policy has decided on.
func verdict(j *job.Job) (a answer) {
	no := j.Verdict.Refusal
	value := map[string]any{"allowed": no == nil, "error": no, "narrowed": append([]string{}, j.Verdict.Narrowed...)}
	a.value = value
	if no != nil {
		a.code = exitNo
		a.say("refused: %s", no.Message)
		a.say("rule:    %s", no.Rule)
		for _, s := range no.NextSteps {
			a.say("next:    %s", s)
		}
		return a
	}
	value["spec"] = &j.Spec
	a.say("allowed")
	for _, s := range j.Verdict.Narrowed {
		a.say("narrowed: %s", s)
	}
	a.raw = j.Spec.JSON()
	return a
}
