// Package isolate is the command line of isolate, the sandbox of programming contests (Judge0, Piston, CMS), on top of
// this project's jails: boxes on disk that outlive a run, its options of versions 1.8 to 2.6, meta files and exit
// codes. Options are parsed (getopt.go, options.go, rules.go), translated to a Spec (translate.go), and run (run.go).
package isolate

import (
	"errors"
	"os"

	"brig/cmd/brig/internal/isolate/boxes"
	"brig/internal/cli"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Version is the version of isolate whose words, keys and exit codes these are.
const Version = "2.6"

// call is one call of the command.
type call struct {
	*Options
	tell   *teller
	config *Config
}

// Main runs a command line and returns the exit code: 0 if the program ended well, 1 if it did not, and 2 if it could
// not be run.
func Main(args []string, std cli.Stdio) int {
	if os.Getuid() != os.Geteuid() {
		return usage(std, errors.New("brig is not made to be set-user-ID: chmod u-s it; it needs no root"))
	}
	o, err := parse(args)
	if err != nil {
		return usage(std, err)
	}
	switch o.Command {
	case "help":
		return emit(std, help())
	case "version":
		return emit(std, "The process isolator "+Version+"\nas brig "+cli.Version+" does it\n")
	}
	tell := &teller{report: o.report, std: std}
	c := &call{Options: o, tell: tell}
	if err := tell.openMeta(); err != nil {
		return tell.die(err)
	}
	unix.Umask(0o022)
	root := os.Geteuid() == 0
	environ := os.Environ()
	if unknown := words.UnknownVariable(environ); unknown != "" {
		return tell.die(errors.New(unknown))
	}
	if note := words.ForBwrap(environ); note != "" {
		std.Say("%s", note)
	}
	if c.config, err = readConfig(root); err != nil {
		return tell.die(err)
	}
	switch {
	case o.Command == "check-config":
		return 0
	case o.Command == "print-cg-root":
		return emit(std, printGroup(c.config)+"\n")
	case o.AsUID >= 0 && !root:
		return tell.die(errorf("You must be root to use --as-uid or --as-gid"))
	case o.Box >= c.config.Count:
		return tell.die(errorf("Sandbox ID out of range (allowed: 0-%d)", c.config.Count-1))
	}
	code, err := c.act()
	if err != nil {
		return tell.die(err)
	}
	return code
}

// act performs --init, --run or --cleanup.
func (c *call) act() (int, error) {
	if c.Command == "init" && c.config.Restricted && os.Geteuid() != 0 {
		return 0, errorf("New sandboxes can be created only by root")
	}
	root, err := boxes.OpenOwn("box_root", c.config.Boxes)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	b := boxes.New(root, c.Box, c.CG, int(c.AsUID), int(c.AsGID))
	there, err := b.Take(c.config.Locks, c.Command == "init", c.Command == "cleanup", c.Wait)
	if err != nil {
		return 0, err
	}
	switch {
	case c.Command == "init":
		if err := b.Make(); err != nil {
			return 0, err
		}
		return emit(c.tell.std, b.Dir+"\n"), nil
	case c.Command == "run" && !there:
		name := "isolate"
		if c.CG {
			name += " --cg"
		}
		return 0, errorf("Box not found, did you run `%s --init'?", name)
	case c.Command == "run":
		return c.run(b)
	case !there:
		c.tell.say("Nothing to do -- box did not exist")
		return 0, nil
	}
	c.tell.say("Deleting sandbox")
	if err := b.Remove(); err != nil {
		return 0, err
	}
	return 0, b.Forget()
}
