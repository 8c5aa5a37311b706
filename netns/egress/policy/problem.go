package policy

import (
	"errors"
	"unicode"

	"brig/internal/strictjson"
)

// Problem is an error in a policy. Path is a JSON path below the policy ("allow[2].ports").
type Problem struct{ Path, Reason, Fix string }

// Error returns the problem as one line: path, reason, fix.
func (p *Problem) Error() string {
	text := p.Reason
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Fix != "" {
		text += ": " + p.Fix
	}
	return text
}

// at prepends parent to the problem's path; nil stays nil.
func (p *Problem) at(parent string) *Problem {
	switch {
	case p == nil || parent == "":
		return p
	case p.Path == "" || p.Path[0] == '[':
		parent += p.Path
	default:
		parent += "." + p.Path
	}
	return &Problem{parent, p.Reason, p.Fix}
}

// join returns one error with all problems; errors.As finds each.
func join(problems []Problem) error {
	errs := make([]error, len(problems))
	for i := range problems {
		errs[i] = &problems[i]
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// plainRune reports whether a rune may be in a path, a log line and a table: it is printable and was decoded without
// error.
func plainRune(r rune) bool { return r != unicode.ReplacementChar && unicode.IsPrint(r) && r != ' ' }

// each returns the problems that read finds in the elements of a list.
func each[T, R any](name string, list []T, read func(T) (R, *Problem)) (problems []Problem) {
	for i, element := range list {
		if _, problem := read(element); problem != nil {
			problems = append(problems, *problem.at(strictjson.Index(name, i)))
		}
	}
	return problems
}
