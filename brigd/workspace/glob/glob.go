// Package glob matches paths with a pattern, one name at a time, so that who walks a tree knows which directories
// cannot have a match below them.
//
// A pattern has names with slashes between them. In a name, *, ? and [a-z] are those of path.Match, and {a,b} is one of
// several texts, which may have slashes. The name ** is any number of names, also none. Names that begin with a dot are
// as others. A match takes no more steps than the pattern has names, for each name of the path: there is no
// backtracking over names.
package glob

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

const (
	maxBytes  = 4096 // of a pattern, also with its braces expanded
	maxNames  = 63   // of one alternative: see State
	maxChoice = 64   // alternatives that braces make
)

// Pattern is a compiled pattern.
type Pattern struct{ choices [][]string }

// State is what has matched of a pattern after some names of a path: for each alternative, bit i is set if its first i
// names have matched.
type State []uint64

// Compile compiles a pattern. It is relative: slashes at its ends, and names that are "." or empty, count for nothing.
func Compile(text string) (*Pattern, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	list, err := expand(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, text := range list {
		names, err := split(text)
		if err != nil {
			return nil, err
		}
		p.choices = append(p.choices, names)
	}
	return p, nil
}

// split returns the names of an alternative.
func split(text string) (names []string, err error) {
	for name := range strings.SplitSeq(text, "/") {
		switch _, err := path.Match(name, ""); {
		case err != nil:
			return nil, fmt.Errorf("%q is no pattern of a name: a bracket is not closed, or a backslash is the last", name)
		case name == "..":
			return nil, errors.New(`it has ".." in it`)
		case name == "" || name == "." || name == "**" && len(names) > 0 && names[len(names)-1] == "**":
			continue
		}
		names = append(names, name)
	}
	switch n := len(names); {
	case n == 0:
		return nil, errors.New("it is empty")
	case names[n-1] == "**":
		names = append(names, "*") // all that is below, but not the directory itself
	}
	if len(names) > maxNames {
		return nil, fmt.Errorf("it has more than %d names", maxNames)
	}
	return names, nil
}

// expand returns the alternatives of the braces in a pattern.
func expand(text string) (list []string, err error) {
	for todo := []string{text}; len(todo) > 0; {
		text, todo = todo[0], todo[1:]
		from, to, parts := braces(text)
		if to < 0 {
			list = append(list, text)
			continue
		}
		for _, part := range parts {
			todo = append(todo, text[:from]+part+text[to:])
		}
		if len(list)+len(todo) > maxChoice {
			return nil, fmt.Errorf("its braces make more than %d patterns", maxChoice)
		}
	}
	return list, nil
}

// braces finds the first pair of braces, which is from text[from] to before text[to], and its parts. Without one to is
// -1. A backslash escapes one, and one without a partner stands for itself.
func braces(text string) (from, to int, parts []string) {
	depth, begin := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth++; depth == 1 {
				from, begin, parts = i, i+1, nil
			}
		case c == ',' && depth == 1:
			parts, begin = append(parts, text[begin:i]), i+1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return from, i + 1, append(parts, text[begin:i])
			}
		}
	}
	return 0, -1, nil
}

// Start returns the state before the first name.
func (p *Pattern) Start() State {
	s := make(State, len(p.choices))
	for i, names := range p.choices {
		s[i] = closed(names, 1)
	}
	return s
}

// Step returns the state after one more name.
func (p *Pattern) Step(s State, name string) State {
	next := make(State, len(s))
	for i, names := range p.choices {
		for n, want := range names {
			switch {
			case s[i]&(1<<n) == 0:
			case want == "**":
				next[i] |= 1 << n
			default:
				if ok, _ := path.Match(want, name); ok { // Compile has tried the pattern
					next[i] |= 1 << (n + 1)
				}
			}
		}
		next[i] = closed(names, next[i])
	}
	return next
}

// closed adds the states that ** reaches without a name.
func closed(names []string, s uint64) uint64 {
	for n, want := range names {
		if want == "**" && s&(1<<n) != 0 {
			s |= 1 << (n + 1)
		}
	}
	return s
}

// Matches reports whether the names so far are a match.
func (p *Pattern) Matches(s State) bool {
	for i, names := range p.choices {
		if s[i]&(1<<len(names)) != 0 {
			return true
		}
	}
	return false
}

// Enters reports whether further names may make a match.
func (p *Pattern) Enters(s State) bool {
	for i, names := range p.choices {
		if s[i]&(1<<len(names)-1) != 0 {
			return true
		}
	}
	return false
}
