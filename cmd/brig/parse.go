package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/nsjail"
)

// given is a flag that the command line has, with its values.
type given struct {
	flag   *flag
	values []string
	bare   bool // the flag may have a value and has none
}

// parse reads the command line that follows run, explain or spec. --spec comes first wherever it stands; then the
// other flags change what it says, in their order.
func parse(name string, args []string, read readFunc) (inv *invocation, help bool, err error) {
	var table []flag
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" { // without a flag, a start needs no table
		table = flags(name)
	}
	list, words, help, err := scan(table, args)
	if err != nil || help {
		return nil, help, err
	}
	b := &builder{
		inv:  &invocation{command: name, args: args, reportFD: -1, origin: map[string]string{}},
		read: read,
	}
	for _, first := range []bool{true, false} {
		for _, g := range list {
			if (g.flag.name == "spec") != first {
				continue
			}
			b.flag = "--" + g.flag.name
			if err := b.apply(g); err != nil {
				return nil, false, fmt.Errorf("%s: %w", b.flag, err)
			}
		}
		b.fromSpec = len(b.inv.spec.Mounts)
	}
	if len(words) > 0 {
		b.inv.spec.Args = words
		b.inv.origin["args"] = "command"
	}
	if name == "explain" && len(b.inv.spec.Args) == 0 && b.inv.origin["seccomp"] != "" {
		b.inv.seccompTable = true
	}
	return b.inv, false, nil
}

func (b *builder) apply(g given) error {
	if g.flag.path != "" {
		b.inv.origin[g.flag.path] = b.flag
	}
	if g.bare {
		return g.flag.setBare(b)
	}
	return g.flag.set(b, g.values)
}

// scan splits words into flags with their values and the command, which begins at the first word that is neither. After
// a flag that brig does not have it continues, so that one error names all of them.
func scan(table []flag, words []string) (list []given, command []string, help bool, err error) {
	count := map[string]string{}
	var unknown []error
	for len(words) > 0 {
		word := words[0]
		if word == "--" {
			words = words[1:]
			break
		}
		if len(word) < 2 || word[0] != '-' {
			break
		}
		if word == "-h" || word == "--help" {
			return nil, nil, true, nil
		}
		g, rest, err := scanFlag(table, words)
		if err == errUnknown {
			unknown, words = append(unknown, notAFlag(table, word)), afterUnknown(words)
			continue
		}
		if err != nil {
			return nil, nil, false, errors.Join(append(unknown, err)...)
		}
		key := g.flag.key()
		order := g.bare && g.flag.greedy // `--seccomp` as an order to explain, not as a choice of the filter
		if earlier, twice := count[key]; twice && !g.flag.many && !order {
			if earlier != g.flag.name {
				return nil, nil, false, fmt.Errorf("--%s: it contradicts --%s; keep one", g.flag.name, earlier)
			}
			return nil, nil, false, fmt.Errorf("--%s: it is given twice; keep one", g.flag.name)
		}
		if !order {
			count[key] = g.flag.name
		}
		list, words = append(list, g), rest
	}
	if len(unknown) > 0 {
		return nil, nil, false, errors.Join(unknown...)
	}
	return list, words, false, nil
}

// afterUnknown returns the words after a flag that brig does not have. If a -- follows, the words up to the next flag
// or that -- are left out too: they may be the flag's values, and cannot be the command.
func afterUnknown(words []string) []string {
	words = words[1:]
	end := slices.Index(words, "--")
	for n := 0; n < end; n++ {
		if strings.HasPrefix(words[n], "-") {
			end = n
		}
	}
	return words[max(end, 0):]
}

// scanFlag reads the flag that words begin with.
func scanFlag(table []flag, words []string) (g given, rest []string, err error) {
	f, value, attached := lookup(table, words[0])
	if f == nil {
		return g, nil, errUnknown
	}
	g, rest = given{flag: f}, words[1:]
	switch {
	case attached && len(f.args) == 0 && words[0][1] != '-' && !strings.Contains(words[0], "="): // docker's -it
		return g, append([]string{"-" + words[0][2:]}, rest...), nil
	case attached && len(f.args) == 0:
		return g, nil, fmt.Errorf("--%s: it takes no value; write --%s alone", f.name, f.name)
	case attached && len(f.args) > 1:
		return g, nil, fmt.Errorf("--%s: it takes %d words; write %s", f.name, len(f.args), f.usage())
	case attached:
		g.values = []string{value}
		return g, rest, nil
	case f.setBare != nil && (!f.greedy || !isValue(table, rest)):
		g.bare = true
		return g, rest, nil
	}
	for range f.args {
		if !isValue(table, rest) {
			return g, nil, missing(f, rest)
		}
		g.values, rest = append(g.values, rest[0]), rest[1:]
	}
	return g, rest, nil
}

func missing(f *flag, rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("--%s: a value is missing before %s; write %s", f.name, show(rest[0]), f.usage())
	}
	return fmt.Errorf("--%s: a value is missing; write %s", f.name, f.usage())
}

// isValue says whether the next word can be the value of a flag. A word that is itself a flag cannot: it was more
// likely forgotten than meant.
func isValue(table []flag, rest []string) bool {
	if len(rest) == 0 || rest[0] == "--" {
		return false
	}
	if !strings.HasPrefix(rest[0], "-") || len(rest[0]) < 2 {
		return true
	}
	f, _, attached := lookup(table, rest[0])
	short := rest[0][1] != '-'
	return f == nil || short && attached && len(f.args) > 0 // "-1", or a negative value that begins like a short flag
}

// lookup finds the flag of a word, or nil, and the value after = (or after a short flag).
func lookup(table []flag, word string) (f *flag, value string, attached bool) {
	name, value, attached := strings.Cut(word, "=")
	for i := range table {
		f := &table[i]
		if name == "--"+f.name {
			return f, value, attached
		}
		if f.short != 0 && word[0] == '-' && word[1] == f.short {
			value := strings.TrimPrefix(word[2:], "=")
			return f, value, len(word) > 2
		}
	}
	return nil, "", false
}

// errUnknown is the error of scanFlag for a word that looks like a flag but is not one.
var errUnknown = errors.New("not a flag")

// notAFlag returns an error that names what to write instead.
func notAFlag(table []flag, word string) error {
	name, _, _ := strings.Cut(word, "=")
	if says := hintFor(name); says != "" {
		return fmt.Errorf("%s is not a flag; %s", show(name), says)
	}
	if !strings.HasPrefix(word, "--") {
		return fmt.Errorf("%s is not a flag; the short ones are %s", show(word), shortFlags(table))
	}
	var names []string
	for _, f := range table {
		names = append(names, f.name)
	}
	if near := nsjail.Nearest(name[2:], names); near != "" {
		return fmt.Errorf("%s is not a flag; did you mean --%s?", show(name), near)
	}
	return fmt.Errorf("%s is not a flag; --help lists them", show(name))
}

func shortFlags(table []flag) string {
	list := []string{}
	for _, f := range table {
		if f.short != 0 {
			list = append(list, "-"+string(f.short))
		}
	}
	return strings.Join(append(list, "-h"), ", ")
}
