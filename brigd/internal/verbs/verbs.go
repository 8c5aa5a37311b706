// Package verbs runs the subcommands of brigd image, brigd policy, brigd token and brigd audit, whose flags are those
// of package flag.
package verbs

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"brig/internal/words"
)

// Verb is a subcommand, such as mint in brigd token mint.
type Verb struct {
	Name        string
	Args        string // its arguments in help, as in "POLICY POLICY"
	Least, Most int    // the number of its arguments
	Flags       string // the names of its flags, separated by blanks
	Run         func(args []string) error
}

// Set holds the subcommands of a command.
type Set struct {
	Name  string       // "brigd token"
	Usage string       // what --help prints
	Flags flag.FlagSet // the flags of all verbs
	Verbs []Verb
	// Failed returns the exit code for an error, and what to print of it. nil is ExitUsage and the error's text.
	Failed func(err error) (code int, text string)
}

// ExitUsage is the exit code of a command that could not do as asked.
const ExitUsage = 125

// Exit is an exit code other than 0, without a message.
type Exit int

// Error satisfies the interface error.
func (e Exit) Error() string { return fmt.Sprint("exit code ", int(e)) }

// Main runs the verb that args begin with, and returns the exit code. An error is printed on stderr.
func (s *Set) Main(args []string, stdout, stderr io.Writer) int {
	err := s.run(args)
	if errors.Is(err, flag.ErrHelp) {
		err = Print(stdout, "%s", s.Usage)
	}
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[Exit](err); ok {
		return int(exit)
	}
	code, text := ExitUsage, err.Error()
	if s.Failed != nil {
		code, text = s.Failed(err)
	}
	lines := strings.Split(s.Name+": "+text, "\n")
	for i, l := range lines {
		lines[i] = words.Printable(l)
	}
	if _, err := fmt.Fprintln(stderr, strings.Join(lines, "\n")); err != nil {
		return ExitUsage
	}
	return code
}

func (s *Set) run(args []string) error {
	var names []string
	for _, v := range s.Verbs {
		names = append(names, v.Name)
	}
	if len(args) == 0 {
		return fmt.Errorf("there is no command; write one of %s, or --help", strings.Join(names, ", "))
	}
	word := args[0]
	if word == "help" || word == "-h" || word == "--help" {
		return flag.ErrHelp
	}
	for _, v := range s.Verbs {
		if v.Name == word {
			err := s.call(&v, args[1:])
			if _, quiet := errors.AsType[Exit](err); err != nil && !quiet && !errors.Is(err, flag.ErrHelp) {
				err = fmt.Errorf("%s: %w", word, err)
			}
			return err
		}
	}
	return fmt.Errorf("%s is not a command of %s; %s", words.Quote(word), s.Name, words.DidYouMean(word, names))
}

// call parses the flags of a verb, which may also follow its arguments, and runs it.
func (s *Set) call(v *Verb, args []string) error {
	f := flag.NewFlagSet(v.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	for name := range strings.FieldsSeq(v.Flags) {
		f.Var(s.Flags.Lookup(name).Value, name, "")
	}
	var list []string
	err := f.Parse(args)
	for ; err == nil && f.NArg() > 0; err = f.Parse(f.Args()[1:]) {
		list = append(list, f.Arg(0))
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return s.flagError(err, v, args)
	case len(list) < v.Least || len(list) > v.Most:
		return fmt.Errorf("write %s; --help has examples", strings.TrimSpace(s.Name+" "+v.Name+" "+v.Args))
	}
	return v.Run(list)
}

// Print writes to standard output.
func Print(stdout io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(stdout, format, args...); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}
