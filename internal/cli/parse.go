package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/internal/words"
)

// Table holds what is needed to parse a command line.
type Table struct {
	Flags []Flag
	Hints func() []Hint // nil for none; called for an unknown flag
}

// Given is a flag of a command line, with its values.
type Given struct {
	Flag   *Flag
	Values []string
	Bare   bool // the value was left out
}

// Apply calls the flag's Set or Bare.
func (g *Given) Apply() error {
	if g.Bare {
		return g.Flag.Bare(nil)
	}
	return g.Flag.Set(g.Values)
}

// Parse applies the flags and returns the words after them. help is set, and nothing applied, if -h or --help is among
// the flags.
func (t *Table) Parse(args []string) (rest []string, help bool, err error) {
	list, rest, help, err := t.Scan(args)
	for i := range list {
		if err := list[i].Apply(); err != nil {
			return nil, false, fmt.Errorf("--%s: %w", list[i].Flag.Name, err)
		}
	}
	return rest, help, err
}

// Scan splits a command line into flags with their values and the rest, which begins after -- or at the first word that
// is neither. It continues after unknown flags, so that one error names all of them, one on a line.
func (t *Table) Scan(args []string) (list []Given, rest []string, help bool, err error) {
	count := map[string]string{}
	var unknown []error
	for len(args) > 0 {
		word := args[0]
		if word == "--" {
			args = args[1:]
			break
		}
		if len(word) < 2 || word[0] != '-' {
			break
		}
		if word == "-h" || word == "--help" {
			return nil, nil, true, nil
		}
		g, after, err := t.scanFlag(args)
		if err == errUnknown {
			unknown, args = append(unknown, t.notAFlag(word)), afterUnknown(args)
			continue
		}
		if err != nil {
			return nil, nil, false, errors.Join(append(unknown, err)...)
		}
		order := g.Bare && g.Flag.Greedy // `--seccomp` selects the output of explain here, not a filter
		if earlier, twice := count[g.Flag.key()]; twice && !g.Flag.Many && !order {
			if earlier != g.Flag.Name {
				return nil, nil, false, fmt.Errorf("--%s: it contradicts --%s; keep one", g.Flag.Name, earlier)
			}
			return nil, nil, false, fmt.Errorf("--%s: it is given twice; keep one", g.Flag.Name)
		}
		if !order {
			count[g.Flag.key()] = g.Flag.Name
		}
		list, args = append(list, g), after
	}
	if len(unknown) > 0 {
		return nil, nil, false, errors.Join(unknown...)
	}
	return list, args, false, nil
}

// afterUnknown returns the words after an unknown flag. If a -- follows, the words up to the next flag or that -- are
// left out too: they may be the flag's values, and cannot be the command.
func afterUnknown(args []string) []string {
	args = args[1:]
	end := slices.Index(args, "--")
	for n := 0; n < end; n++ {
		if strings.HasPrefix(args[n], "-") {
			end = n
		}
	}
	return args[max(end, 0):]
}

// scanFlag reads the flag that args begin with.
func (t *Table) scanFlag(args []string) (g Given, rest []string, err error) {
	f, value, attached := Lookup(t.Flags, args[0])
	if f == nil {
		return g, nil, errUnknown
	}
	g, rest = Given{Flag: f}, args[1:]
	switch {
	case attached && f.Args == "" && args[0][1] != '-' && !strings.Contains(args[0], "="): // docker's -it
		return g, append([]string{"-" + args[0][2:]}, rest...), nil
	case attached && f.Args == "" && f.Bare == nil:
		return g, nil, fmt.Errorf("--%s: it takes no value; write --%s alone", f.Name, f.Name)
	case attached && f.values() > 1:
		return g, nil, fmt.Errorf("--%s: it takes %d words; write %s", f.Name, f.values(), f.usage())
	case attached:
		g.Values = []string{value}
		return g, rest, nil
	case f.Bare != nil && (!f.Greedy || !t.isValue(rest)):
		g.Bare = true
		return g, rest, nil
	}
	for range f.values() {
		if !t.isValue(rest) {
			return g, nil, Missing(f, rest)
		}
		g.Values, rest = append(g.Values, rest[0]), rest[1:]
	}
	return g, rest, nil
}

// Missing returns the error of a flag without its value, before the rest of the words.
func Missing(f *Flag, rest []string) error {
	before := ""
	if len(rest) > 0 {
		before = " before " + words.Quote(rest[0])
	}
	return fmt.Errorf("--%s: a value is missing%s; write %s", f.Name, before, f.usage())
}

// isValue reports whether the next word can be the value of a flag. A known flag cannot: more likely, the value was
// forgotten.
func (t *Table) isValue(rest []string) bool {
	if len(rest) == 0 || rest[0] == "--" {
		return false
	}
	if !strings.HasPrefix(rest[0], "-") || len(rest[0]) < 2 {
		return true
	}
	f, _, attached := Lookup(t.Flags, rest[0])
	short := rest[0][1] != '-'
	return f == nil || short && attached && f.Args != "" // "-1", or another negative value that begins like a short flag
}

// errUnknown is the error of scanFlag for a word that looks like a flag but is not one.
var errUnknown = errors.New("not a flag")

// notAFlag returns an error that suggests what to write instead.
func (t *Table) notAFlag(word string) error {
	name, _, _ := strings.Cut(word, "=")
	if instead := t.hint(name); instead != "" {
		return fmt.Errorf("%s is not a flag; %s", words.Quote(name), instead)
	}
	if !strings.HasPrefix(word, "--") {
		return fmt.Errorf("%s is not a flag; the short ones are %s", words.Quote(word), t.short())
	}
	var names []string
	for _, f := range t.Flags {
		names = append(names, f.Name)
	}
	if near := words.Nearest(name[2:], names); near != "" {
		return fmt.Errorf("%s is not a flag; did you mean --%s?", words.Quote(name), near)
	}
	return fmt.Errorf("%s is not a flag; --help lists them", words.Quote(name))
}

// short returns the one-letter flags.
func (t *Table) short() string {
	list := ""
	for _, f := range t.Flags {
		if f.Short != 0 {
			list += "-" + string(f.Short) + ", "
		}
	}
	return list + "-h"
}
