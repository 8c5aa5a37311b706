// Package policycmd is brigd policy, which `brig policy` runs: it lists, shows, checks, compares and explains policies. It
// changes nothing and asks no running brigd.
package policycmd

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"brig/agent/policy"
	"brig/cmd/brigd/internal/files"
	"brig/nsjail"
)

// Exit codes.
const (
	exitOK    = 0
	exitNo    = 1   // lint: errors; diff: they differ; explain: the run is refused
	exitUsage = 125 // it cannot be done: a wrong flag, or a policy that cannot be read
)

const usage = `  brig policy list
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

// Run runs brigd policy with the arguments that follow these words, and gives the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout}
	code, err := c.run(args)
	if errors.Is(err, flag.ErrHelp) {
		code = exitOK
		_, err = io.WriteString(stdout, usage)
	}
	if err == nil {
		return code
	}
	if _, werr := fmt.Fprintln(stderr, "brig policy: "+printable(err.Error())); werr != nil {
		return exitUsage // nobody is left to be told
	}
	return exitUsage
}

// command is one of brigd policy under way.
type command struct {
	in  io.Reader
	out io.Writer

	dir, spec, language string
	asJSON, strict      bool
	taken               bool // standard input has been read
}

// verb is a command: which flags it takes beside --dir and --json, how many policies, and what it does.
type verb struct {
	flags       string
	least, most int
	run         func(c *command, policies, rest []string) (int, error)
}

func verbs() map[string]verb {
	const any = 1 << 20
	return map[string]verb{
		"list":    {"", 0, 0, (*command).list},
		"show":    {"", 1, 1, (*command).show},
		"schema":  {"", 0, 0, (*command).schema},
		"lint":    {"strict", 0, any, (*command).lint},
		"diff":    {"", 2, 2, (*command).diff},
		"explain": {"spec language", 1, 1, (*command).explain},
	}
}

func (c *command) run(args []string) (int, error) {
	names := []string{"list", "show", "schema", "lint", "diff", "explain"}
	if len(args) == 0 {
		return 0, fmt.Errorf("there is no command; write one of %s, or --help", strings.Join(names, ", "))
	}
	word := args[0]
	v, ok := verbs()[word]
	switch {
	case word == "help" || word == "-h" || word == "--help":
		return 0, flag.ErrHelp
	case !ok:
		if near := nsjail.Nearest(word, names); near != "" {
			return 0, fmt.Errorf("%s is not a command; did you mean %s?", quote(word), near)
		}
		return 0, fmt.Errorf("%s is not a command; write one of %s", quote(word), strings.Join(names, ", "))
	}
	policies, rest, err := c.parse(word, v, args[1:])
	if err != nil {
		return 0, err
	}
	switch {
	case len(policies) < v.least:
		return 0, fmt.Errorf("%s: name %s", word, map[int]string{1: "a policy", 2: "two policies"}[v.least])
	case len(policies) > v.most:
		return 0, fmt.Errorf("%s: %s is one too many; %s", word, quote(policies[v.most]), "brig policy --help shows what it takes")
	case len(rest) > 0 && word != "explain":
		return 0, fmt.Errorf("%s: it takes no command after --; remove %s", word, quote(rest[0]))
	}
	return v.run(c, policies, rest)
}

// parse takes flags before, between and after policies; what follows -- is a command.
func (c *command) parse(word string, v verb, args []string) (policies, rest []string, err error) {
	f := flag.NewFlagSet(word, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&c.dir, "dir", "", "")
	f.BoolVar(&c.asJSON, "json", false, "")
	if strings.Contains(v.flags, "strict") {
		f.BoolVar(&c.strict, "strict", false, "")
	}
	if strings.Contains(v.flags, "spec") {
		f.StringVar(&c.spec, "spec", "", "")
		f.StringVar(&c.language, "language", "", "")
	}
	for i, a := range args {
		if a == "--" {
			args, rest = args[:i], args[i+1:]
			if len(rest) == 0 {
				return nil, nil, fmt.Errorf("%s: there is no command after --; write one", word)
			}
			break
		}
	}
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, nil, err
		} else if err != nil {
			return nil, nil, fmt.Errorf("%s: %w; brig policy --help lists the flags", word, err)
		}
		if args = f.Args(); len(args) > 0 {
			policies, args = append(policies, args[0]), args[1:]
		}
	}
	return policies, rest, nil
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
		name := strings.TrimSuffix(what[strings.LastIndexByte(what, '/')+1:], ".json")
		if p.Name = name; len(p.Check()) > 0 { // a file may be called anything
			p.Name = ""
		}
	}
	return p, nil
}

// read reads at most a policy's, or a Spec's, largest size; of standard input one byte more, which their parsers refuse.
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

// printf writes text whose arguments are made safe for a terminal.
func (c *command) printf(format string, a ...any) error {
	for i := range a {
		if s, ok := a[i].(string); ok {
			a[i] = printable(s)
		}
	}
	_, err := fmt.Fprintf(c.out, format, a...)
	return err
}

func (c *command) json(v any) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable is a foreign text as one line: what a terminal would act on stands as a Go escape.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteToASCII(string(r)), `"`))
		}
	}
	return b.String()
}

func quote(s string) string { return fmt.Sprintf("%.64q", s) }
