package policy

import (
	"encoding/json"
	"errors"

	"brig/internal/words"
)

// Check returns every problem of the policy that does not depend on the machine. Each is one line with the JSON path
// and the remedy. Parse reports the same problems.
func (p *Policy) Check() (problems []string) {
	c := &checker{}
	for _, n := range []struct{ path, name string }{{"name", p.Name}, {"extends", p.Extends}} {
		if n.name != "" && !validName(n.name) {
			c.add(n.path, words.QuoteASCII(n.name)+" is not a profile's name",
				"write at most 64 lower-case letters, digits, '-', '_' and '.'")
		}
	}
	mechanisms := p.mechanisms()
	for _, check := range []func(*checker){p.programs().check, p.files().check, p.network().check, p.variables().check,
		p.limits().check, p.sandboxes().check, p.filters().check, mechanisms.check, p.features().check,
		mechanisms.checkRequired} {
		check(c)
	}
	return c.problems
}

// Seal checks p, so that Decide need not check it again. It must not be modified afterwards. The error is the first
// problem that Check found.
func (p *Policy) Seal() error {
	if problems := p.Check(); len(problems) > 0 {
		return errors.New(problems[0])
	}
	p.sealed = true
	return nil
}

// JSON returns the policy, including what it inherited, in a canonical form that Parse accepts.
func (p *Policy) JSON() ([]byte, error) {
	flat := *p
	flat.Extends = ""
	return json.MarshalIndent(&flat, "", "  ")
}
