// Package policycmd implements brigd policy. It lists, shows, checks, compares and explains policies. It changes
// nothing and does not contact a running brigd.
package policycmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"brig/brigd/internal/files"
	"brig/brigd/internal/verbs"
	"brig/brigd/policy"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// exitNo is the exit code of lint for errors, of diff for a difference, and of explain for a refusal.
const exitNo = 1

// Usage is the help text.
const Usage = `  brigd policy list
  brigd policy lint my-policy.json
  brigd policy diff minimal python-data
  brigd policy explain python-data -- python3 -c 'print(1)'
  brigd policy explain --spec run.json browse

Usage: brigd policy COMMAND [FLAG...] [POLICY...]

  list                         list the profiles
  show POLICY                  print it as JSON, with what it inherits
  schema                       print the JSON Schema of policies
  lint [POLICY...]             report mistakes, and rules that may have an unintended effect; without a
                               POLICY, check every profile
  diff POLICY POLICY           print what the second allows more and less than the first
  explain POLICY [-- COMMAND]  describe it; with a COMMAND, a --spec or a --language, decide about that run

A POLICY is the name of a profile, a file (with a / or .json), or - for standard input.

Flags:
  --dir DIR        look for profiles here before the built-in ones
  --json           answer in JSON
  --strict         lint: warnings count as errors
  --spec FILE      explain: the run, as brig spec prints it; - is standard input
  --language NAME  explain: a run of code in this language

Exit codes: 0; 1 lint has found errors, diff a difference, or explain a refusal; 125 brig could not do it.
`

// Run runs brigd policy with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout}
	if i := slices.Index(args, "--"); i > 0 {
		args, c.rest = args[:i], args[i+1:]
	}
	return c.verbs().Main(args, stdout, stderr)
}

// command is one invocation of brigd policy.
type command struct {
	in  io.Reader
	out io.Writer

	dir, spec, language string
	asJSON, strict      bool
	taken               bool     // standard input has been read
	rest                []string // the command after --; nil without one
}

// verbs returns the subcommands.
func (c *command) verbs() *verbs.Set {
	s := &verbs.Set{Name: "brigd policy", Usage: Usage}
	verb := func(word string, least, most int, args string, run func(policies []string) (answer, error), flags string) {
		s.Verbs = append(s.Verbs, verbs.Verb{Name: word, Args: args, Least: least, Most: most, Flags: "dir json " + flags,
			Run: func(policies []string) error {
				switch {
				case c.rest != nil && len(c.rest) == 0:
					return errors.New("there is no command after --; write one")
				case len(c.rest) > 0 && word != "explain":
					return fmt.Errorf("it takes no command after --; remove %s", words.Quote(c.rest[0]))
				}
				a, err := run(policies)
				if err != nil {
					return err
				}
				return c.write(a)
			}})
	}
	verb("list", 0, 0, "", c.list, "")
	verb("show", 1, 1, "POLICY", c.show, "")
	verb("schema", 0, 0, "", c.schema, "")
	verb("lint", 0, math.MaxInt, "[POLICY...]", c.lint, "strict")
	verb("diff", 2, 2, "POLICY POLICY", c.diff, "")
	verb("explain", 1, 1, "POLICY [-- COMMAND]", c.explain, "spec language")
	s.Flags.StringVar(&c.dir, "dir", "", "")
	s.Flags.BoolVar(&c.asJSON, "json", false, "")
	s.Flags.BoolVar(&c.strict, "strict", false, "")
	s.Flags.StringVar(&c.spec, "spec", "", "")
	s.Flags.StringVar(&c.language, "language", "", "")
	return s
}

// write writes an answer. Its lines are escaped for a terminal.
func (c *command) write(a answer) error {
	var text strings.Builder
	if c.asJSON && a.value != nil {
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(a.value); err != nil {
			return err
		}
	} else {
		for _, line := range a.lines {
			text.WriteString(words.Printable(line) + "\n")
		}
		text.Write(a.raw)
	}
	if err := verbs.Print(c.out, "%s", text.String()); err != nil || a.code == 0 {
		return err
	}
	return verbs.Exit(a.code)
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
	const most = max(policy.MaxSize, spec.MaxSpecSize)
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
