// Package isolate is the command line of isolate, the sandbox of programming contests (Judge0, Piston, CMS), on top of
// this project's jails: boxes on disk that outlive a run, its options of versions 1.8 to 2.6, meta files and exit
// codes. Options are parsed (getopt.go, options.go, rules.go), translated to a Spec (translate.go), and run (run.go).
package isolate

import (
	"errors"
	"fmt"
	"os"

	"brig/internal/cli"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Version is the version of isolate whose words, keys and exit codes these are.
const Version = "2.6"

// exitInternal is isolate's exit code for an error that is not the program's.
const exitInternal = 2

// call is one call of the command.
type call struct {
	*Options
	std    cli.Stdio
	meta   *os.File
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
	c := &call{Options: o, std: std}
	if err := c.openMeta(); err != nil {
		return c.die(err)
	}
	unix.Umask(0o022)
	root := os.Geteuid() == 0
	if unknown := words.UnknownVariable(os.Environ()); unknown != "" {
		return c.die(errors.New(unknown))
	}
	if c.config, err = readConfig(root); err != nil {
		return c.die(err)
	}
	switch {
	case o.Command == "check-config":
		return 0
	case o.Command == "print-cg-root":
		return emit(std, printGroup(c.config)+"\n")
	case o.AsUID >= 0 && !root:
		return c.die(errorf("You must be root to use --as-uid or --as-gid"))
	case o.Box >= c.config.Count:
		return c.die(errorf("Sandbox ID out of range (allowed: 0-%d)", c.config.Count-1))
	}
	code, err := c.act()
	if err != nil {
		return c.die(err)
	}
	return code
}

// act performs --init, --run or --cleanup.
func (c *call) act() (int, error) {
	if c.Command == "init" && c.config.Restricted && os.Geteuid() != 0 {
		return 0, errorf("New sandboxes can be created only by root")
	}
	root, err := openOwn("box_root", c.config.Boxes)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	b := newBox(root, c.Options)
	there, err := b.take(c.config.Locks, c.Command == "init", c.Command == "cleanup", c.Wait)
	if err != nil {
		return 0, err
	}
	switch {
	case c.Command == "init":
		if err := b.make(); err != nil {
			return 0, err
		}
		return emit(c.std, b.dir+"\n"), nil
	case c.Command == "run" && !there:
		name := "isolate"
		if c.CG {
			name += " --cg"
		}
		return 0, errorf("Box not found, did you run `%s --init'?", name)
	case c.Command == "run":
		return c.run(b)
	case !there:
		c.say("Nothing to do -- box did not exist")
		return 0, nil
	}
	c.say("Deleting sandbox")
	if err := b.remove(); err != nil {
		return 0, err
	}
	return 0, b.forget()
}

// errorf returns an error in the words of isolate, which begin with a capital.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// openMeta opens the meta file. A symbolic link is followed in /dev and /proc only: elsewhere a program may have left
// it. A FIFO must have a reader already: one that a program has left has none.
func (c *call) openMeta() error {
	switch c.Meta {
	case "":
		return nil
	case "-":
		c.meta = c.std.Out
		return nil
	}
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Open(c.Meta, flags, 0o666)
	if err == unix.ELOOP && deviceLink(c.Meta) {
		fd, err = unix.Open(c.Meta, flags&^unix.O_NOFOLLOW, 0o666)
	}
	if err == unix.ENXIO {
		return errorf("Failed to open metafile %s: no process reads this FIFO; start its reader first", words.Quote(c.Meta))
	}
	if err != nil {
		return errorf("Failed to open metafile %s: %w", words.Quote(c.Meta), err)
	}
	c.meta = os.NewFile(uintptr(fd), c.Meta)
	return nil
}

// write writes lines to the meta file.
func (c *call) write(lines []string) {
	if c.meta == nil {
		return
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.meta, line); err != nil {
			c.say("cannot write the meta file: " + cli.Reason(err))
			return
		}
	}
}

// die reports an error of the sandbox itself.
func (c *call) die(err error) int {
	line := oneLine(err.Error())
	c.write(internal(line))
	_, _ = fmt.Fprintln(c.std.Err, line) // a closed stderr leaves the exit code
	return exitInternal
}

// say prints a line of --verbose.
func (c *call) say(line string) {
	if c.Verbose > 0 {
		_, _ = fmt.Fprintln(c.std.Err, oneLine(line))
	}
}

func usage(std cli.Stdio, err error) int {
	_, _ = fmt.Fprintf(std.Err, "%s\nTry 'isolate --help' for more information.\n", oneLine(err.Error()))
	return exitInternal
}

func emit(std cli.Stdio, text string) int {
	if _, err := std.Out.WriteString(text); err != nil {
		_, _ = fmt.Fprintln(std.Err, "cannot write to stdout: "+cli.Reason(err)+"; give it a reader or more room")
		return exitInternal
	}
	return 0
}
