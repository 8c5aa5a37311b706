// Package verbs runs the subcommands of brigd policy, brigd token and brigd audit, whose flags are those of package
// flag.
package verbs

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"brig/internal/words"
)

// Verb is a subcommand, such as mint in brigd token mint.
type Verb struct {
	Name  string
	Flags func(*flag.FlagSet)       // nil for none
	Run   func(args []string) error // args are the arguments after the flags
}

// Set holds the subcommands of a command.
type Set struct {
	Name  string // for messages: "brigd token"
	None  string // the message if there is no verb
	Is    string // the noun in the message about an unknown verb
	All   bool   // list all verbs if an unknown verb is similar to none
	Mixed bool   // flags may follow arguments
	Verbs []Verb
}

// Run runs the verb that args begin with. It returns flag.ErrHelp if help is requested.
func (s *Set) Run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("there is no command; write %s, or --help", s.None)
	}
	word := args[0]
	if word == "help" || word == "-h" || word == "--help" {
		return flag.ErrHelp
	}
	var names []string
	for _, v := range s.Verbs {
		if v.Name == word {
			rest, err := s.parse(&v, args[1:])
			if err != nil {
				return err
			}
			return v.Run(rest)
		}
		names = append(names, v.Name)
	}
	fix := ""
	if s.All || words.Nearest(word, names) != "" {
		fix = "; " + words.DidYouMean(word, names)
	}
	return fmt.Errorf("%s is not %s%s", words.Quote(word), s.Is, fix)
}

// parse parses the flags of a verb and returns the other arguments.
func (s *Set) parse(v *Verb, args []string) (rest []string, err error) {
	f := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	if v.Flags != nil {
		v.Flags(f)
	}
	for err = f.Parse(args); err == nil && s.Mixed && f.NArg() > 0; err = f.Parse(f.Args()[1:]) {
		rest = append(rest, f.Arg(0))
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = fmt.Errorf("%s: %w; %s --help lists the flags", v.Name, err, s.Name)
	}
	return append(rest, f.Args()...), err
}
