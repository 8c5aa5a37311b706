// Package policycmd implements brigd policy, which `brig policy` executes. It lists, shows, checks, compares and
// explains policies. It changes nothing and does not contact a running brigd.
package policycmd

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"brig/agent/policy"
	"brig/cmd/brigd/internal/files"
	"brig/cmd/brigd/internal/verbs"
	"brig/internal/words"
	"brig/nsjail"
)

// Exit codes.
const (
	exitNo    = 1   // lint: errors; diff: they differ; explain: the run is refused
	exitUsage = 125 // the command failed: a wrong flag, or an unreadable policy
)

// Usage is the help text.
const Usage = `  brig policy list
  brig policy lint my-policy.json
  brig policy diff minimal python-data
  brig policy explain python-data -- python3 -c 'print(1)'
  brig policy explain --spec run.json browse

Usage: brig policy COMMAND [FLAG...] [POLICY...]

  list                         the profiles that there are
  show POLICY                  the whole of it as JSON, with what it inherits
  schema                       the JSON Schema of policies
  lint [POLICY...]             what is wrong with it, and what may not be meant; without a POLICY, every profile
  diff POLICY POLICY           what the second allows more and less than the first
  explain POLICY [-- COMMAND]  what it means; with a COMMAND, a --spec or a --language, what it says of that run

A POLICY is the name of a profile, a file (with a / or .json), or - for standard input.

Flags:
  --dir DIR        look for profiles here before the built-in ones
  --json           answer in JSON
  --strict         lint: warnings count as errors
  --spec FILE      explain: the run, as brig spec prints it; - is standard input
  --language NAME  explain: a run of code in this language

Exit codes: 0; 1 lint has found errors, diff a difference, or explain a refusal; 125 it cannot be done.
`

// Run runs brigd policy with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout}
	err := c.run(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(stdout, Usage)
	}
	if err != nil {
		c.code = exitUsage
		_, _ = fmt.Fprintln(stderr, "brig policy: "+words.Printable(err.Error())) // stderr may be closed
	}
	return c.code
}

// command is one invocation of brigd policy.
type command struct {
	in  io.Reader
	out io.Writer

	dir, spec, language string
	asJSON, strict      bool
	taken               bool // standard input has been read
	code                int  // the exit code
}

// verb returns a subcommand that takes least to most policies. rest is the command after --, nil without one.
func (c *command) verb(word string, least, most int, run func(policies, rest []string) (answer, error),
	rest []string, flags ...func(*flag.FlagSet)) verbs.Verb {
	return verbs.Verb{Name: word,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&c.dir, "dir", "", "")
			f.BoolVar(&c.asJSON, "json", false, "")
			for _, add := range flags {
				add(f)
			}
		},
		Run: func(policies []string) error {
			switch {
			case rest != nil && len(rest) == 0:
				return fmt.Errorf("%s: there is no command after --; write one", word)
			case len(policies) < least:
				return fmt.Errorf("%s: name %s", word, []string{"", "a policy", "two policies"}[least])
			case len(policies) > most:
				return fmt.Errorf("%s: %s is one too many; brig policy --help shows what it takes", word,
					words.Quote(policies[most]))
			case len(rest) > 0 && word != "explain":
				return fmt.Errorf("%s: it takes no command after --; remove %s", word, words.Quote(rest[0]))
			}
			a, err := run(policies, rest)
			if err != nil {
				return err
			}
			return c.write(a)
		}}
}

// run runs the subcommand that args begin with.
func (c *command) run(args []string) error {
	var rest []string
	if i := slices.Index(args, "--"); i > 0 {
		args, rest = args[:i], args[i+1:]
	}
	set := &verbs.Set{Name: "brig policy", None: "one of list, show, schema, lint, diff, explain", Is: "a command",
		All: true, Mixed: true, Verbs: []verbs.Verb{
			c.verb("list", 0, 0, c.list, rest),
			c.verb("show", 1, 1, c.show, rest),
			c.verb("schema", 0, 0, c.schema, rest),
			c.verb("lint", 0, math.MaxInt, c.lint, rest, func(f *flag.FlagSet) { f.BoolVar(&c.strict, "strict", false, "") }),
			c.verb("diff", 2, 2, c.diff, rest),
			c.verb("explain", 1, 1, c.explain, rest, func(f *flag.FlagSet) {
				f.StringVar(&c.spec, "spec", "", "")
				f.StringVar(&c.language, "language", "", "")
			}),
		}}
	return set.Run(args)
}

// write writes an answer. Its lines are escaped for a terminal.
func (c *command) write(a answer) error {
	c.code = a.code
	if c.asJSON && a.value != nil {
		e := json.NewEncoder(c.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(a.value)
	}
	var text strings.Builder
	for _, line := range a.lines {
		text.WriteString(words.Printable(line) + "\n")
	}
	text.Write(a.raw)
	_, err := io.WriteString(c.out, text.String())
	return err
}

// load reads a policy by its name, from a file or from standard input.
func (c *command) load(what string) (*policy.Policy, error) {
	if what != "-" && !strings.Contains(what, "/") && !strings.HasSuffix(what, ".json") {
		return policy.LoadProfile(c.dir, what)
	}
	data, err := c.read(what)
	if err != nil {
		return nil, err
	}
	p, err := policy.ParseIn(c.dir, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(path.Base(what), ".json")
		if len(p.Check()) > 0 { // the name of a file may be no valid policy name
			p.Name = ""
		}
	}
	return p, nil
}

// read reads at most the largest size of a policy or a Spec. From standard input it reads one byte more, so that the
// parsers refuse a larger one.
func (c *command) read(name string) ([]byte, error) {
	const most = max(policy.MaxSize, nsjail.MaxSpecSize)
	if name != "-" {
		data, err := files.Read(name, most)
		if err != nil {
			return nil, fmt.Errorf("%w (a profile is named without / and .json, and - is standard input)", err)
		}
		return data, nil
	}
	if c.taken {
		return nil, errors.New("standard input can be read once; put one of the two into a file")
	}
	c.taken = true
	data, err := io.ReadAll(io.LimitReader(c.in, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
