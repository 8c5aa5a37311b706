package verbs

import (
	"fmt"
	"strings"

	"brig/internal/words"
)

// flagError returns the error of package flag in the words of brig, with the nearest flag of the verb.
func (s *Set) flagError(err error, v *Verb, args []string) error {
	text, names := err.Error(), strings.Fields(v.Flags)
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		near := words.Nearest(name, names)
		switch {
		case near != "":
			near = "did you mean --" + near + "?"
		case len(names) == 0:
			near = s.Name + " " + v.Name + " has none"
		default:
			near = "write one of --" + strings.Join(names, ", --")
		}
		return fmt.Errorf("%s is not a flag; %s", words.Quote(typed(name, args)), near)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("%s has no value; write %[1]s VALUE", typed(name, args))
	}
	said, rest, ok := strings.Cut(text, " for flag -") // invalid value "x" for flag -priority: parse error
	if !ok {
		said, rest, ok = strings.Cut(text, " for -") // invalid boolean value "x" for -json: parse error
	}
	if name, why, _ := strings.Cut(rest, ": "); ok {
		return fmt.Errorf("%s: %s: %s; %s --help tells what it takes", typed(name, args), said, why, s.Name)
	}
	return fmt.Errorf("%w; %s --help lists the flags", err, s.Name)
}

// typed returns a flag as it was typed, with one or two dashes.
func typed(name string, args []string) string {
	for _, a := range args {
		flag, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(a, "-") && strings.TrimLeft(flag, "-") == name {
			return flag
		}
	}
	return "--" + name
}
