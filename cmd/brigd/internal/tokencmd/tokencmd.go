// Package tokencmd implements brigd token, which makes, narrows, shows, checks and revokes capability tokens.
//
// A token is never an argument, since every user of the machine could read it: it is read from standard input, or from
// the file that --token names, and written to standard output.
package tokencmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brig/agent/token"
	"brig/cmd/brigd/internal/files"
	"brig/cmd/brigd/internal/verbs"
	"brig/internal/words"
	"brig/nsjail"
)

// Exit codes.
const (
	exitOK    = 0
	exitNo    = 1   // the token is not valid
	exitUsage = 125 // brigd could not do as asked
)

// Usage is the help text.
const Usage = `  brigd token keygen --out issuer                       # issuer.key (secret) and issuer.pub
  brigd token mint --key issuer.key --agent ci --expires 8h --runs 100 --policy minimal >ci.token
  brigd token attenuate --token ci.token --expires 10m --runs 1 | brigd token inspect
  brigd token verify --token-key issuer.pub --state-dir state <ci.token
  brigd token revoke --state-dir state --token ci.token --reason "laptop lost"

Usage: brigd token COMMAND [FLAG...]

  keygen     make an issuer's key pair: --out NAME
  mint       issue a token: --key FILE, --agent NAME or --any-agent, and what narrows
  attenuate  make a narrower token of one, without any key: what narrows
  inspect    show what a token says, unchecked: --json
  verify     check it: --token-key FILE, again for each key; --state-dir DIR asks for revocation, too
  revoke     withdraw a token and all that were made from it: --state-dir DIR, and an ID or a token; --reason TEXT

A token is read from standard input, or from --token FILE, and written to standard output.

What narrows:
  --expires WHEN     a duration from now (8h, 30m), an instant (2030-01-31T12:00:00Z) or never; mint: 24h if not given
  --not-before WHEN  the same
  --runs N           so many runs, of all holders together
  --policy WHAT      a file with a policy, or the name of a built-in profile
  --agent NAME       on whose behalf; only if the token does not say it
  --note TEXT        for people
  --seal             nobody can narrow the result

Exit codes: 0; 1 the token is not valid; 125 brigd could not do it.
`

// Run runs brigd token with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{in: stdin, out: stdout}
	err := c.verbs().Run(args)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, flag.ErrHelp) {
		if _, err = io.WriteString(stdout, Usage); err == nil {
			return exitOK
		}
	}
	var no *nsjail.Refusal
	text := "brigd token: " + err.Error()
	if errors.As(err, &no) {
		text = "brigd token: " + strings.Replace(err.Error(), no.Error(), no.Message, 1) + "\n  " +
			strings.Join(no.NextSteps, "\n  ")
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = words.JSON(l)
	}
	if _, werr := fmt.Fprintln(stderr, strings.Join(lines, "\n")); werr != nil || no == nil ||
		no.Code == token.CodeLedger {
		return exitUsage
	}
	return exitNo
}

// command is one invocation of brigd token.
type command struct {
	in  io.Reader
	out io.Writer

	id string // revoke: the id to revoke, if it is not a token

	name, key, agent, expires, notBefore, policy, note, token, state, reason string

	runs                 int64
	anyAgent, seal, json bool
	keys                 []string
}

// verbs returns the subcommands. All but revoke take flags only.
func (c *command) verbs() *verbs.Set {
	const narrowing = " agent expires not-before policy note seal runs"
	verb := func(word string, run func() error, flags string) verbs.Verb {
		return verbs.Verb{Name: word, Flags: func(f *flag.FlagSet) { c.define(f, flags) }, Run: func(args []string) error {
			if len(args) > 1 || len(args) == 1 && word != "revoke" {
				return fmt.Errorf("%s: there is an argument too many, or a flag after it; "+
					"a token is read from standard input or from --token FILE", word)
			}
			c.id = strings.Join(args, "")
			if err := run(); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
			return nil
		}}
	}
	return &verbs.Set{Name: "brigd token", None: "one of keygen, mint, attenuate, inspect, verify and revoke",
		Is: "a command of it", Verbs: []verbs.Verb{
			verb("keygen", c.keygen, "out"),
			verb("mint", c.mint, "key any-agent"+narrowing),
			verb("attenuate", c.attenuate, "token"+narrowing),
			verb("inspect", c.inspect, "token json"),
			verb("verify", c.verify, "token state-dir token-key"),
			verb("revoke", c.revoke, "token state-dir reason"),
		}}
}

// define defines the flags with these names.
func (c *command) define(f *flag.FlagSet, names string) {
	texts := map[string]*string{"out": &c.name, "key": &c.key, "token": &c.token, "agent": &c.agent,
		"expires": &c.expires, "not-before": &c.notBefore, "policy": &c.policy, "note": &c.note, "state-dir": &c.state,
		"reason": &c.reason}
	switches := map[string]*bool{"any-agent": &c.anyAgent, "seal": &c.seal, "json": &c.json}
	others := map[string]func(string) error{"runs": c.setRuns, "token-key": func(s string) error {
		c.keys = append(c.keys, s)
		return nil
	}}
	for name := range strings.FieldsSeq(names) {
		switch {
		case texts[name] != nil:
			f.StringVar(texts[name], name, "", "")
		case switches[name] != nil:
			f.BoolVar(switches[name], name, false, "")
		default:
			f.Func(name, "", others[name])
		}
	}
}

func (c *command) setRuns(text string) (err error) {
	if c.runs, err = strconv.ParseInt(text, 10, 64); err != nil || c.runs < 1 || c.runs > token.MaxRuns {
		return fmt.Errorf("write a number from 1 to %d", int64(token.MaxRuns))
	}
	return nil
}

// read reads the token.
func (c *command) read() (*token.Token, error) {
	var data []byte
	var err error
	if c.token != "" && c.token != "-" {
		if data, err = files.Read(c.token, token.MaxText+2); err != nil {
			return nil, fmt.Errorf("--token: %w", err)
		}
	} else if data, err = io.ReadAll(io.LimitReader(c.in, token.MaxText+2)); err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	text, ok := strings.CutSuffix(string(data), "\n")
	if ok {
		text = strings.TrimSuffix(text, "\r")
	}
	return token.Parse(text)
}

// print writes to standard output.
func (c *command) print(format string, args ...any) error {
	if _, err := fmt.Fprintf(c.out, format, args...); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}
