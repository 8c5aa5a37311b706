package policy

import (
	"slices"
	"strings"

	"brig/brigd/job"
)

// rule is what the rules of every subject know: whose they are, and whether an absent list allows everything.
type rule struct {
	policy string // its name, for messages
	open   bool
}

// rule returns what the rules of p share.
func (p *Policy) rule() rule {
	if p.Name == "" {
		return rule{"policy", p.Open}
	}
	return rule{p.Name, p.Open}
}

// open reports whether the policy is open and the list absent, so that everything is allowed.
func open[T any](r rule, list []T) bool { return r.open && list == nil }

// refusal returns a Refusal by the policy.
func (r rule) refusal(field, code, message string, next ...string) *job.Refusal {
	return &job.Refusal{Message: sentence(message), Code: code, Layer: "policy", Rule: r.policy + ": " + field,
		NextSteps: next}
}

// sentence adds a full stop if there is none.
func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// orNone joins a list for a message: "none" if it is empty, and at most 64 entries.
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	const most = 64
	if len(list) > most {
		return strings.Join(list[:most], ", ") + " and others"
	}
	return strings.Join(list, ", ")
}

// with appends the entries of more that list lacks.
func with(list, more []string) []string {
	for _, entry := range more {
		if !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}
