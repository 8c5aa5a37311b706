package policycmd

import (
	"fmt"
	"strings"

	"brig/agent/policy"
	"brig/nsjail"
)

// profile is a line of list.
type profile struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Error       string `json:"error,omitempty"` // why it cannot be used
}

func (c *command) list(_, _ []string) (int, error) {
	names, err := policy.Profiles(c.dir)
	if err != nil {
		return 0, err
	}
	profiles := []profile{}
	for _, name := range names {
		p, err := policy.LoadProfile(c.dir, name)
		if err != nil {
			profiles = append(profiles, profile{Name: name, Error: err.Error()})
			continue
		}
		profiles = append(profiles, profile{Name: name, Description: p.Description})
	}
	if c.asJSON {
		return exitOK, c.json(map[string]any{"profiles": profiles})
	}
	for _, p := range profiles {
		if p.Error != "" {
			p.Description = "cannot be used: " + p.Error
		}
		if err := c.printf("%-16s %s\n", p.Name, p.Description); err != nil {
			return 0, err
		}
	}
	return exitOK, nil
}

func (c *command) show(policies, _ []string) (int, error) {
	p, err := c.load(policies[0])
	if err != nil {
		return 0, err
	}
	data, err := p.JSON()
	if err != nil {
		return 0, err
	}
	_, err = c.out.Write(append(data,
		'\n')) // JSON is printable except for U+0080 to U+009F, which terminals ignore in UTF-8
	return exitOK, err
}

func (c *command) schema(_, _ []string) (int, error) {
	_, err := c.out.Write(policy.SchemaFile)
	return exitOK, err
}

// linted holds the findings of lint for one policy.
type linted struct {
	Policy   string           `json:"policy"`
	Findings []policy.Finding `json:"findings"`
}

func (c *command) lint(policies, _ []string) (int, error) {
	if len(policies) == 0 {
		names, err := policy.Profiles(c.dir)
		if err != nil {
			return 0, err
		}
		policies = names
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
		}
		all = append(all, one)
	}
	code := exitOK
	if errors > 0 || c.strict && warnings > 0 {
		code = exitNo
	}
	if c.asJSON {
		return code, c.json(map[string]any{"policies": all, "errors": errors, "warnings": warnings})
	}
	for _, one := range all {
		for _, f := range one.Findings {
			if err := c.printf("%s: %s: %s\n", one.Policy, f.Level, strings.TrimPrefix(f.Path+": "+f.Message,
				": ")); err != nil {
				return 0, err
			}
		}
	}
	return code, c.printf("%s\n", fmt.Sprintf("%d errors, %d warnings in %d policies", errors, warnings, len(all)))
}

func (c *command) diff(policies, _ []string) (int, error) {
	var both [2]*policy.Policy
	for i := range both {
		p, err := c.load(policies[i])
		if err != nil {
			return 0, err
		}
		both[i] = p
	}
	changes := policy.Diff(both[0], both[1])
	code := exitOK
	if len(changes) > 0 {
		code = exitNo
	}
	if c.asJSON {
		if changes == nil {
			changes = []policy.Change{}
		}
		return code, c.json(map[string]any{"from": policies[0], "to": policies[1], "changes": changes})
	}
	if len(changes) == 0 {
		return code, c.printf("%s allows what %s allows\n", policies[1], policies[0])
	}
	for _, ch := range changes {
		for _, side := range []struct {
			sign  string
			items []string
		}{{"more", ch.More}, {"less", ch.Less}} {
			if len(side.items) == 0 {
				continue
			}
			if err := c.printf("%-24s %s: %s\n", ch.Field, side.sign, strings.Join(side.items, ", ")); err != nil {
				return 0, err
			}
		}
	}
	return code, nil
}

func (c *command) explain(policies, rest []string) (int, error) {
	p, err := c.load(policies[0])
	if err != nil {
		return 0, err
	}
	if c.spec == "" && c.language == "" && rest == nil {
		if c.asJSON {
			data, err := policy.ExplainJSON(p)
			if err != nil {
				return 0, err
			}
			return exitOK, c.json(data)
		}
		for _, s := range policy.Explain(p) {
			if err := c.printf("%s\n", s); err != nil {
				return 0, err
			}
		}
		return exitOK, nil
	}
	j, err := c.job(rest)
	if err != nil {
		return 0, err
	}
	p.Decide(j)
	return c.verdict(j)
}

// job returns the run to explain.
func (c *command) job(rest []string) (*nsjail.Job, error) {
	j := &nsjail.Job{Language: c.language}
	if c.spec != "" {
		data, err := c.read(c.spec)
		if err != nil {
			return nil, err
		}
		s, err := nsjail.ParseSpec(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.spec, err)
		}
		j.Spec = *s
	}
	if rest != nil {
		j.Spec.Args = rest
	}
	if c.language != "" && len(j.Spec.Args) == 0 {
		j.Spec.Args = []string{c.language} // package lang chooses the command for a language
	}
	return j, nil
}

func (c *command) verdict(j *nsjail.Job) (int, error) {
	no := j.Verdict.Refusal
	code := exitOK
	if no != nil {
		code = exitNo
	}
	if c.asJSON {
		answer := map[string]any{"allowed": no == nil, "error": no, "narrowed": append([]string{}, j.Verdict.Narrowed...)}
		if no == nil {
			answer["spec"] = &j.Spec
		}
		return code, c.json(answer)
	}
	if no != nil {
		if err := c.printf("refused: %s\nrule:    %s\n", no.Message, no.Rule); err != nil {
			return 0, err
		}
		for _, s := range no.NextSteps {
			if err := c.printf("next:    %s\n", s); err != nil {
				return 0, err
			}
		}
		return code, nil
	}
	if err := c.printf("allowed\n"); err != nil {
		return 0, err
	}
	for _, s := range j.Verdict.Narrowed {
		if err := c.printf("narrowed: %s\n", s); err != nil {
			return 0, err
		}
	}
	_, err := c.out.Write(j.Spec.JSON())
	return code, err
}
