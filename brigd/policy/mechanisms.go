package policy

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"brig/brigd/job"
	"brig/internal/strictjson"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// mechanismRules are which mechanisms must be in force, and which a run may do without.
type mechanismRules struct {
	rule
	require, optional []string
	limits            *limitRules
}

func (p *Policy) mechanisms() *mechanismRules {
	return &mechanismRules{p.rule(), p.Require, p.Optional, p.limits()}
}

func (m *mechanismRules) check(c *checker) {
	c.oneOf("require", m.require, mechanismNames())
	c.oneOf("optional", m.optional, mechanismNames())
}

// checkRequired checks that what is required can be in force.
func (m *mechanismRules) checkRequired(c *checker) {
	for i, name := range m.require {
		if why := m.unrequirable(name); why != "" {
			c.add(strictjson.Index("require", i), words.QuoteASCII(name)+" "+why, "set the ceiling, or leave it out")
		}
		if slices.Contains(m.optional, name) {
			c.add("require", words.QuoteASCII(name)+" is also listed under optional", "remove one of the two")
		}
	}
}

// unrequirable returns why a run under this policy could not have the mechanism, or "". nsjail refuses to require a
// limit that is not set, and only a ceiling sets a limit for every run.
func (m *mechanismRules) unrequirable(name string) string {
	for i := range limitTable() {
		r := &limitTable()[i]
		if slices.Contains(strings.Fields(r.Mechanism), name) && !m.limits.sets(r.Name) {
			return "is a limit for which there is no ceiling here"
		}
	}
	return ""
}

var mechanismNames = sync.OnceValue(func() []string {
	return texts(spec.Mechanisms(), func(m spec.Mechanism) string { return m.Name })
})

// narrow adds the required mechanisms, and removes from Spec.Optional those that the policy does not list.
func (m *mechanismRules) narrow(s *nsjail.Spec) (said []string) {
	optional := slices.DeleteFunc(slices.Clone(s.Optional), func(name string) bool {
		return slices.Contains(m.require, name) || !open(m.rule, m.optional) && !slices.Contains(m.optional, name)
	})
	if len(optional) < len(s.Optional) {
		if len(optional) == 0 {
			optional = nil
		}
		s.Optional = optional
		said = append(said, m.policy+": what may be missing cut to "+orNone(optional)+".")
	}
	require := with(slices.Clone(s.Require), m.require)
	if len(require) > len(s.Require) {
		slices.Sort(require) // the same for every order of policies
		s.Require = require
		said = append(said, m.policy+": required "+strings.Join(m.require, ", ")+".")
	}
	return said
}

// filterRules are the allowed system-call filters.
type filterRules struct {
	rule
	names []string
}

func (p *Policy) filters() *filterRules { return &filterRules{p.rule(), p.Seccomp} }

func (f *filterRules) check(c *checker) {
	c.each("seccomp", f.names, "is not the name of a filter", "write default, another preset, unconfined, or a path",
		func(s string) bool {
			return s != "" && s == strings.TrimSpace(s)
		})
}

func (f *filterRules) judge(s *nsjail.Spec) *job.Refusal {
	name := cmp.Or(s.Seccomp, "default")
	if open(f.rule, f.names) || slices.Contains(f.names, name) {
		return nil
	}
	return f.refusal("seccomp", "seccomp_not_allowed", "the system-call filter "+words.QuoteASCII(name)+" is not allowed",
		"Use one of the allowed filters: "+orNone(f.names)+".")
}
