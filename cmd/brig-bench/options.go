package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/measure"
)

// options are the parsed command line.
type options struct {
	quick, help      bool
	ranges           []string // the files of --range; nil to measure
	rounds           int
	only, tools      []string
	json, html, brig string
}

// usage is what --help prints.
const usage = `brig-bench compares what isolating a command costs, on this machine.

  make bench                      all of it, half an hour; make bench-deps installs the others
  brig-bench --quick              the whole run in about two minutes, with wider intervals
  brig-bench --only 'job*,start'  some measurements; --only help lists them
  brig-bench --html report.html --json report.json
  brig-bench --range a.json b.json c.json   the range over runs of different hours, as Markdown; --json merges them

  --quick        fewer and shorter rounds
  --tools A,B    compare with these only, by the beginning of their names: bubblewrap,runc
  --rounds N     so many rounds of each measurement, whatever they take
  --only ID,ID   these measurements only; a * at the end of one stands for any ending
  --json FILE    write the results as JSON; - is standard output
  --html FILE    write the results as one page with charts
  --brig PATH    the brig program; default: brig beside this one
  --range        read runs instead of measuring; the other flags come before the files
`

// parse reads the command line. Its errors are one line each.
func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("brig-bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	list := func(to *[]string) func(string) error {
		return func(s string) error {
			*to = strings.Split(s, ",")
			return nil
		}
	}
	f.BoolVar(&o.quick, "quick", false, "")
	f.IntVar(&o.rounds, "rounds", 0, "")
	f.Func("only", "", list(&o.only))
	f.Func("tools", "", list(&o.tools))
	f.StringVar(&o.json, "json", "", "")
	f.StringVar(&o.html, "html", "", "")
	f.StringVar(&o.brig, "brig", "", "")
	ranges := f.Bool("range", false, "")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return options{help: true}, nil
	} else if err != nil {
		return o, fmt.Errorf("%w; --help lists the flags", err)
	}
	if *ranges {
		if o.ranges = f.Args(); len(o.ranges) == 0 {
			return o, errors.New("--range: name the files that --json has written, of three runs or more")
		}
		return o, nil
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	}
	if o.rounds < 0 {
		return o, fmt.Errorf("--rounds %d: must be 1 or more", o.rounds)
	}
	var ids []string
	for _, d := range measure.Dimensions() {
		ids = append(ids, d.ID)
	}
	for _, pattern := range o.only {
		if !slices.ContainsFunc(ids, func(id string) bool { return matches(pattern, id) }) {
			return o, fmt.Errorf("--only %q: there is no such measurement; there are %s", pattern, strings.Join(ids, ", "))
		}
	}
	return o, o.findBrig()
}

// matches reports whether an element of --only names a measurement: job, or job* for all jobs.
func matches(pattern, id string) bool {
	prefix, all := strings.CutSuffix(pattern, "*")
	return pattern == id || all && strings.HasPrefix(id, prefix)
}

// chosen reports whether --only names a measurement, or is not there.
func (o *options) chosen(id string) bool {
	return o.only == nil || slices.ContainsFunc(o.only, func(p string) bool { return matches(p, id) })
}

// findBrig looks for the brig program and makes its path absolute.
func (o *options) findBrig() error {
	if o.brig == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		o.brig = filepath.Join(filepath.Dir(self), "brig")
	}
	st, err := os.Stat(o.brig)
	if err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("--brig %s: is no program; build it with make build", o.brig)
	}
	o.brig, err = filepath.Abs(o.brig)
	return err
}

// wants reports whether a tool takes part: brig and the bare processes always do.
func (o *options) wants(tool string) bool {
	return o.tools == nil || tool == "no jail" || tool == "direct loopback" || strings.HasPrefix(tool, "brig") ||
		slices.ContainsFunc(o.tools, func(t string) bool { return t != "" && strings.HasPrefix(tool, t) })
}
