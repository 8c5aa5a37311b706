package policy

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// Problem is what is wrong with a policy, at a JSON path below the policy ("allow[2].ports").
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

// at puts parent before the problem's path; nil stays nil.
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

// join returns one error of problems, each of which errors.As finds.
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

func index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// plainRune reports whether a rune may be in a path, a log line and a table: it is printable and was decoded without
// error.
func plainRune(r rune) bool { return r != unicode.ReplacementChar && unicode.IsPrint(r) && r != ' ' }

// didYouMean returns the remedy for an unknown word: the nearest right one, or all of them.
func didYouMean(word string, list []string) string {
	if near := nearest(word, list); near != "" {
		return "did you mean " + near + "?"
	}
	return "write one of " + strings.Join(list, ", ")
}

// nearest returns the member of list that a misspelt word most likely meant, or "". Case, hyphens and underscores cost
// nothing.
func nearest(word string, list []string) string {
	if len(word) > maxShown { // a typing error is shorter, and the distance is quadratic
		return ""
	}
	word = foldKey(word)
	best, cost := "", 1+max(1, len(word)/3)
	for _, candidate := range list {
		c := foldKey(candidate)
		d := distance(word, c)
		if len(word) >= 3 && d > 1 && strings.HasPrefix(c, word) { // cut short, not misspelt
			d = 1
		}
		if d < cost {
			best, cost = candidate, d
		}
	}
	return best
}

func foldKey(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(s), "_", ""), "-", "")
}

// distance returns the number of bytes to insert, delete or change, and of neighbours to swap.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
