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

// options are what the command line asks for.
type options struct {
	quick, list, user, help bool
	rounds                  int
	only, tools             []string
	json, html, brig        string
}

// usage is what --help prints.
const usage = `brig-bench compares what isolating a command costs, on this machine.

  make bench                      all of it, a quarter of an hour or more; make bench-deps installs the others
  brig-bench --quick              the whole run in about a minute, with wider intervals
  brig-bench --only start,memory  some measurements; --list names them
  brig-bench --html report.html --json report.json

  --quick        fewer and shorter rounds
  --tools A,B    compare with these only, by the beginning of their names: bubblewrap,runc
  --rounds N     so many rounds of each measurement, whatever they take
  --only ID,ID   these measurements only
  --list         list the measurements and the tools
  --json FILE    write the results as JSON; - is standard output, /dev/fd/N an open descriptor
  --html FILE    write the results as one page with charts
  --user         root only: measure as an ordinary user
  --brig PATH    the brig program; default: brig beside this one
`

// parse reads the command line. Its errors are one line each.
func parse(args []string) (o options, err error) {
	var only, tools string
	f := flag.NewFlagSet("brig-bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.quick, "quick", false, "")
	f.BoolVar(&o.list, "list", false, "")
	f.BoolVar(&o.user, "user", false, "")
	f.IntVar(&o.rounds, "rounds", 0, "")
	f.StringVar(&only, "only", "", "")
	f.StringVar(&tools, "tools", "", "")
	f.StringVar(&o.json, "json", "", "")
	f.StringVar(&o.html, "html", "", "")
	f.StringVar(&o.brig, "brig", "", "")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return options{help: true}, nil
	} else if err != nil {
		return o, fmt.Errorf("%w; --help lists the flags", err)
	}
	set := map[string]bool{}
	f.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	case set["rounds"] && o.rounds < 1:
		return o, fmt.Errorf("--rounds %d: must be 1 or more", o.rounds)
	case o.user && os.Geteuid() != 0:
		return o, errors.New("--user: is for root; leave it out, you are an ordinary user")
	}
	if set["tools"] {
		o.tools = strings.Split(tools, ",")
	}
	if o.only, err = chosen(only, set["only"]); err != nil {
		return o, err
	}
	if o.brig == "" {
		self, err := os.Executable()
		if err != nil {
			return o, err
		}
		o.brig = filepath.Join(filepath.Dir(self), "brig")
	}
	if o.brig, err = filepath.Abs(o.brig); err != nil {
		return o, err
	}
	if st, err := os.Stat(o.brig); err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
		return o, fmt.Errorf("--brig %s: is no program; build it with make build", o.brig)
	}
	return o, nil
}

// wants says whether a tool takes part: brig and the bare process always do.
func (o *options) wants(tool string) bool {
	return o.tools == nil || tool == "no jail" || strings.HasPrefix(tool, "brig") ||
		slices.ContainsFunc(o.tools, func(t string) bool { return t != "" && strings.HasPrefix(tool, t) })
}

// chosen checks the list of --only.
func chosen(list string, given bool) ([]string, error) {
	if !given {
		return nil, nil
	}
	var ids []string
	for _, d := range measure.Dimensions() {
		ids = append(ids, d.ID)
	}
	only := strings.Split(list, ",")
	for _, id := range only {
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("--only %q: there is no such measurement; there are %s", id, strings.Join(ids, ", "))
		}
	}
	return only, nil
}
