// Package auditcmd implements brigd audit, which verifies and shows an audit log.
package auditcmd

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"brig/brigd/audit"
	"brig/brigd/internal/verbs"
	"brig/brigd/token"
	"brig/internal/words"
)

// Usage is the help text.
const Usage = `  brigd audit verify audit.jsonl
  brigd audit verify --anchor 5120:9f86d081884c7d65... audit.jsonl   # the anchor that verify has printed before
  brigd audit show --agent ci --since 1h audit.jsonl
  brigd audit show --run run_x --json audit.jsonl

Usage: brigd audit verify [FLAG...] FILE...
       brigd audit show [FLAG...] FILE...

One FILE includes the older files beside it (FILE.000001 and so on). Several files are read in the given order, which
must begin with the oldest.

verify checks the hash chain: each line must be complete and follow the one before. It prints the number of lines and
the last hash. Keep these elsewhere, since a log does not show that its end was cut off.
  --anchor N:HASH  the log must still have line N with this hash
  --key FILE       a public key that signs checkpoints; may be repeated
  --json           print the report as JSON

show prints events and checks the chain meanwhile.
  --run ID, --agent NAME, --token ID, --sandbox ID, --event KIND, --status STATUS
                   only events with this value; the status of a refused run is refused
  --since WHEN, --until WHEN
                   a duration back from now (90m) or an instant (2030-01-31T12:00:00Z)
  --last N         the last N events
  --json           the lines of the log, unchanged

Exit codes: 0; 1 the log was altered or is incomplete; 125 brigd could not do it.
`

// Run runs brigd audit with args, the arguments after these words, and returns the exit code.
func Run(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return (&command{out: bufio.NewWriter(stdout)}).verbs().Main(args, stdout, stderr)
}

// failed returns 1 for a log that was altered or is incomplete.
func failed(err error) (code int, text string) {
	if errors.As(err, new(*audit.BadLine)) || errors.Is(err, audit.ErrNotProven) {
		return 1, err.Error()
	}
	return verbs.ExitUsage, err.Error()
}

type command struct {
	out    *bufio.Writer
	json   bool
	verify audit.VerifyOptions
	filter filter
	last   int
}

func (c *command) verbs() *verbs.Set {
	flushed := func(run func(files []string) error) func([]string) error {
		return func(files []string) error {
			err := run(files)
			if ferr := c.out.Flush(); ferr != nil && err == nil {
				err = fmt.Errorf("cannot write to standard output: %w", ferr)
			}
			return err
		}
	}
	s := &verbs.Set{Name: "brigd audit", Usage: Usage, Failed: failed, Verbs: []verbs.Verb{
		{Name: "verify", Args: "FILE...", Least: 1, Most: math.MaxInt, Run: flushed(c.runVerify), Flags: "json anchor key"},
		{Name: "show", Args: "FILE...", Least: 1, Most: math.MaxInt, Run: flushed(c.runShow),
			Flags: "json last run agent token sandbox event status since until"},
	}}
	s.Flags.BoolVar(&c.json, "json", false, "")
	s.Flags.Func("anchor", "", c.anchor)
	s.Flags.Func("key", "", c.key)
	s.Flags.Func("last", "", c.setLast)
	c.filter.flags(&s.Flags)
	return s
}

func (c *command) key(path string) error {
	keys, err := token.ReadPublicKeys(path)
	c.verify.Keys = append(c.verify.Keys, keys...)
	return err
}

func (c *command) setLast(text string) (err error) {
	if c.last, err = strconv.Atoi(text); err != nil || c.last < 1 || c.last > 1e6 {
		return errors.New("write a number from 1 to 1000000")
	}
	return nil
}

func (c *command) anchor(text string) (err error) {
	n, hash, _ := strings.Cut(text, ":")
	if c.verify.AnchorSeq, err = strconv.ParseUint(n, 10, 64); err != nil || c.verify.AnchorSeq == 0 {
		return errors.New("write N:HASH as brigd audit verify prints it")
	}
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 {
		return errors.New("after N: come the 64 digits of the hash")
	}
	c.verify.AnchorHash = strings.ToLower(hash)
	return nil
}

func (c *command) runVerify(files []string) error {
	r, err := c.verify.Verify(files...)
	if c.json {
		text, jerr := json.Marshal(&r)
		if jerr != nil {
			return jerr
		}
		fmt.Fprintln(c.out, words.JSON(string(text)))
		return err
	}
	fmt.Fprintf(c.out, "%d events in %d files, numbers %d to %d, %s to %s\n", r.Events, len(r.Files), r.FirstSeq,
		r.LastSeq, stamp(r.First), stamp(r.Last))
	fmt.Fprintf(c.out, "%d runs started, %d ended, %d refused\n", r.Started, r.Ended, r.Refused)
	for _, x := range []struct {
		n    uint64
		text string
	}{
		{uint64(len(r.Unfinished)), "runs have not ended: they are under way, or their writer was killed"},
		{r.Gaps, "times nothing could be written"},
		{r.Missed, "events are missing for that"},
		{r.Recovered, "torn lines were set aside"},
		{r.Reopened, "writers did not end in good order"},
	} {
		if x.n > 0 {
			fmt.Fprintf(c.out, "%d %s\n", x.n, x.text)
		}
	}
	if r.FirstSeq > 1 {
		fmt.Fprintf(c.out, "the files before number %d are not here\n", r.FirstSeq)
	}
	if r.Signed > 0 {
		fmt.Fprintf(c.out, "signed up to number %d\n", r.Signed)
	}
	if err == nil {
		fmt.Fprintf(c.out, "whole; anchor %d:%s\n", r.LastSeq, r.LastHash)
	}
	return err
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
