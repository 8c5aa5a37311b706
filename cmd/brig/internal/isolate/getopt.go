package isolate

import (
	"fmt"
	"strings"

	"brig/internal/words"
)

// takes is whether an option has an argument: getopt_long(3).
type takes int

const (
	nothing takes = iota
	value
	perhaps // only in the same word: -p4, --processes=4
)

// option is a row of the table of options.
type option struct {
	long  string
	short byte
	takes takes
	set   func(o *Options, v string) error
}

// parse reads a command line as getopt_long(3) does: options may follow other words, a word -- ends them, and a long
// option may be shortened as long as it is unambiguous. The words that are no options are Options.Args.
func parse(args []string) (*Options, error) {
	o := &Options{own: own{AsUID: -1, AsGID: -1}, limits: limits{Processes: 1, OpenFiles: 1024}}
	o.addDefaults()
	table := options()
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			o.Args = append(o.Args, args...)
			args = nil
		case strings.HasPrefix(word, "--"):
			rest, err := o.long(table, word[2:], args)
			if err != nil {
				return o, err
			}
			args = rest
		case len(word) > 1 && word[0] == '-':
			rest, err := o.shorts(table, word[1:], args)
			if err != nil {
				return o, err
			}
			args = rest
		default:
			o.Args = append(o.Args, word)
		}
	}
	return o, o.check()
}

// long applies a long option, and returns the words after it and its argument.
func (o *Options) long(table []option, word string, rest []string) ([]string, error) {
	name, v, has := strings.Cut(word, "=")
	row, err := find(table, name)
	switch {
	case err != nil:
		return rest, err
	case has && row.takes == nothing:
		return rest, fmt.Errorf("option '--%s' doesn't allow an argument; write it alone", row.long)
	case !has && row.takes == value && len(rest) == 0:
		return rest, fmt.Errorf("option '--%s' requires an argument", row.long)
	case !has && row.takes == value:
		v, rest = rest[0], rest[1:]
	}
	return rest, row.apply(o, v)
}

// find returns the option of a name or of the only one that begins so.
func find(table []option, name string) (*option, error) {
	var near []string
	var row *option
	for i := range table {
		if table[i].long == name {
			return &table[i], nil
		}
		if name != "" && strings.HasPrefix(table[i].long, name) {
			near, row = append(near, "--"+table[i].long), &table[i]
		}
	}
	switch len(near) {
	case 0:
		return nil, fmt.Errorf("unrecognized option %s", words.Quote("--"+name))
	case 1:
		return row, nil
	}
	return nil, fmt.Errorf("option %s is ambiguous; write one of %s", words.Quote("--"+name), strings.Join(near, ", "))
}

// shorts applies the letters of a word, the last of which may have an argument.
func (o *Options) shorts(table []option, word string, rest []string) ([]string, error) {
	for word != "" {
		letter := word[0]
		word = word[1:]
		var row *option
		for i := range table {
			if table[i].short == letter {
				row = &table[i]
			}
		}
		if row == nil {
			return rest, fmt.Errorf("invalid option -- %s", words.Quote(string(rune(letter))))
		}
		v := ""
		if row.takes != nothing {
			v, word = word, ""
			if v == "" && row.takes == value {
				if len(rest) == 0 {
					return rest, fmt.Errorf("option requires an argument -- '%c'", letter)
				}
				v, rest = rest[0], rest[1:]
			}
		}
		if err := row.apply(o, v); err != nil {
			return rest, err
		}
	}
	return rest, nil
}

func (r *option) apply(o *Options, v string) error {
	if strings.IndexByte(v, 0) >= 0 {
		return fmt.Errorf("--%s: there is a NUL byte; remove it", r.long)
	}
	if err := r.set(o, v); err != nil {
		return fmt.Errorf("--%s: %w", r.long, err)
	}
	return nil
}
