package plan

import (
	"maps"
	"slices"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// input is what every decision is made from. No decision changes it.
type input struct {
	*spec.Spec
	host *host.Host
	mode *Mode
}

// report is what the decisions tell the caller, beside what they decide.
type report struct {
	enforced map[string]spec.Text // Plan.Enforced
	notes    []spec.Text          // Plan.Notes
	err      error                // the first one
}

func newReport() report { return report{enforced: map[string]spec.Text{}} }

func (r *report) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *report) note(text spec.Text) { r.notes = append(r.notes, text) }

// holding is how a mechanism is held.
type holding uint8

const (
	lacking  holding = iota // nothing holds it, which is an error
	held                    // as it is meant
	replaced                // by the fallback
	waived                  // nothing holds it, and the Spec lists it under Optional
)

// require reports whether a mechanism can be used, and records what enforces it. A missing one is an error unless the
// Spec lists it under Optional, or unless there is a fallback and the Spec does not list it under Require.
func (r *report) require(s *spec.Spec, name string, by, missing, fallback spec.Text) bool {
	how, err := r.enforce(s, name, by, missing, fallback)
	if err != nil {
		r.fail(err)
	}
	return how == held
}

// enforce is require for a caller that words the error.
func (r *report) enforce(s *spec.Spec, name string, by, missing, fallback spec.Text) (holding, *spec.Error) {
	switch {
	case missing == "":
		r.enforced[name] = by
		return held, nil
	case slices.Contains(s.Optional, name):
		r.enforced[name] = "not enforced: " + missing + " (optional)"
		return waived, nil
	case fallback != "" && !slices.Contains(s.Require, name):
		r.enforced[name] = fallback + " (" + missing + ")"
		return replaced, nil
	}
	return lacking, spec.HostError(name, missing, "mend that"+words.Clause(", or accept a jail without it: "+
		spec.Without(name)))
}

// copy returns a report to which other decisions may add.
func (r *report) copy() report {
	return report{enforced: maps.Clone(r.enforced), notes: slices.Clone(r.notes), err: r.err}
}
