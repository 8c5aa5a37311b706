package isolate

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brig/cmd/brig/internal/convert"
)

// Convert returns the jail that a command line with --run means, for brig convert, and what only isolate itself does.
func Convert(args []string) (*convert.Jail, error) {
	o, err := parse(args)
	if err == nil && o.Command != "run" {
		err = errors.New("only --run starts a program; write isolate --run -- PROGRAM")
	}
	if err != nil {
		return nil, err
	}
	config, err := readConfig(os.Geteuid() == 0)
	if err != nil {
		return nil, err
	}
	f := factsOf(filepath.Join(config.Boxes, strconv.FormatInt(o.Box, 10)), config)
	f.environ = nil // variables of the caller pass when the jail runs, and their values are not in the spec
	made, err := o.translate(f)
	if err != nil {
		return nil, err
	}
	j := &convert.Jail{Base: made.spec, Args: made.spec.Args}
	for _, rule := range o.Vars {
		if !strings.Contains(rule, "=") {
			j.Flag("--env", "pass-env", rule)
		}
	}
	if o.FullEnv {
		j.Flag("--full-env", "pass-env", "*")
		j.Note("--full-env", convert.Missing, convert.NoSecrets)
	}
	if o.Time > 0 && !o.CG { // brig isolate looks at the clock itself
		j.Flag("--time", "cpu-time", o.Time.String())
	}
	j.Note("--run", convert.Missing, "the box must be there, with files that the program may use: "+
		"brig isolate --init makes it")
	if len(made.temps) > 0 {
		j.Note("--dir", convert.Missing, "a temporary directory must be there: "+filepath.Join(f.dir, "tmp", made.temps[0]))
	}
	if o.Stdin+o.Stdout+o.Stderr != "" || o.Merge {
		j.Note("--stdin, --stdout, --stderr", convert.Missing, "the streams are the caller's; write <FILE, >FILE or 2>FILE")
	}
	if o.Meta != "" {
		j.Note("--meta", convert.Missing, "a report in JSON has the same and more; write --report FILE")
	}
	if o.Extra > 0 {
		j.Note("--extra-time", convert.Ignored, "the time that a program may use is the larger of the two")
	}
	if o.AsUID >= 0 {
		j.Note("--as-uid, --as-gid", convert.Ignored, "a spec is run by the caller")
	}
	return j, nil
}
