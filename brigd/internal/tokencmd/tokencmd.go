// Package tokencmd implements brigd token, which makes, narrows, shows, checks and revokes capability tokens.
//
// A token is never an argument, since every user of the machine could read it: it is read from standard input, or from
// the file that --token names, and written to standard output.
package tokencmd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brig/brigd/internal/files"
	"brig/brigd/internal/verbs"
	"brig/brigd/job"
	"brig/brigd/token"
)

// Usage is the help text.
const Usage = `  brigd token keygen --out issuer                       # issuer.key (secret) and issuer.pub
  brigd token mint --key issuer.key --agent ci --expires 8h --runs 100 --policy minimal >ci.token
  brigd token attenuate --token ci.token --expires 10m --runs 1 | brigd token inspect
  brigd token verify --token-key issuer.pub --state-dir state <ci.token
  brigd token revoke --state-dir state --token ci.token --reason "laptop lost"

Usage: brigd token COMMAND [FLAG...]

  keygen     make an issuer's key pair: --out NAME
  mint       issue a token: --key FILE, --agent NAME or --any-agent, and restrictions
  attenuate  restrict a token further, without any key: restrictions
  inspect    print the content of a token without verifying it: --json
  verify     verify a token: --token-key FILE, which may be repeated; --state-dir DIR checks revocation, too
  revoke     revoke a token and all tokens made from it: --state-dir DIR, and an ID or a token; --reason TEXT

A token is read from standard input, or from --token FILE, and written to standard output.

Restrictions:
  --expires WHEN     a duration from now (8h, 30m), an instant (2030-01-31T12:00:00Z) or never; mint: 24h if not given
  --not-before WHEN  the same
  --runs N           the number of runs, of all holders together
  --policy WHAT      a file with a policy, or the name of a built-in profile
  --agent NAME       the agent that it is for; only if the token names none yet
  --note TEXT        a remark for people
  --seal             the result cannot be restricted further

Exit codes: 0; 1 the token is not valid; 125 brigd could not do it.
`

// Run runs brigd token with args, the arguments after these words, and returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&command{in: stdin, out: stdout}).verbs().Main(args, stdout, stderr)
}

// failed returns 1 for a token that is not valid.
func failed(err error) (code int, text string) {
	no, ok := errors.AsType[*job.Refusal](err)
	if !ok {
		return verbs.ExitUsage, err.Error()
	}
	text = strings.Replace(err.Error(), no.Error(), no.Message, 1) + "\n  " + strings.Join(no.NextSteps, "\n  ")
	if no.Code == token.CodeLedger {
		return verbs.ExitUsage, text
	}
	return 1, text
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
	s := &verbs.Set{Name: "brigd token", Usage: Usage, Failed: failed}
	verb := func(word, args string, most int, run func() error, flags string) {
		s.Verbs = append(s.Verbs, verbs.Verb{Name: word, Args: args, Most: most, Flags: flags,
			Run: func(args []string) error {
				c.id = strings.Join(args, "")
				return run()
			}})
	}
	verb("keygen", "--out NAME", 0, c.keygen, "out")
	verb("mint", "--key FILE [FLAG...]", 0, c.mint, "key any-agent"+narrowing)
	verb("attenuate", "[FLAG...] <TOKEN", 0, c.attenuate, "token"+narrowing)
	verb("inspect", "<TOKEN", 0, c.inspect, "token json")
	verb("verify", "--token-key FILE <TOKEN", 0, c.verify, "token state-dir token-key")
	verb("revoke", "--state-dir DIR [ID]", 1, c.revoke, "token state-dir reason")
	for name, to := range map[string]*string{"out": &c.name, "key": &c.key, "token": &c.token, "agent": &c.agent,
		"expires": &c.expires, "not-before": &c.notBefore, "policy": &c.policy, "note": &c.note, "state-dir": &c.state,
		"reason": &c.reason} {
		s.Flags.StringVar(to, name, "", "")
	}
	for name, to := range map[string]*bool{"any-agent": &c.anyAgent, "seal": &c.seal, "json": &c.json} {
		s.Flags.BoolVar(to, name, false, "")
	}
	s.Flags.Func("runs", "", c.setRuns)
	s.Flags.Func("token-key", "", func(file string) error {
		c.keys = append(c.keys, file)
		return nil
	})
	return s
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
func (c *command) print(format string, args ...any) error { return verbs.Print(c.out, format, args...) }
