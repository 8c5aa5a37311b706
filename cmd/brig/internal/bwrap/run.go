package bwrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/steps"

	"golang.org/x/sys/unix"
)

// Version is the version of bubblewrap whose options and messages these are.
const Version = "0.11.1"

// exitOwn is bubblewrap's exit code for its own failures.
const exitOwn = 1

// call is one call of the command.
type call struct {
	*Options
	std    cli.Stdio
	jail   *steps.Jail
	report *os.File // BRIG_REPORT
}

// Main runs a command line and returns the exit code: the command's, 128 + N if signal N ended it, or 1 if bwrap
// failed.
func Main(args []string, std cli.Stdio) int {
	o, err := Parse(args, readAll)
	c := &call{Options: o, std: std}
	for _, w := range o.Warnings {
		c.say(4, w)
	}
	switch {
	case err != nil:
		return c.die(err)
	case o.Version:
		return c.emit("bubblewrap " + Version + "\nas brig " + cli.Version + " does it\n")
	case o.Help:
		return c.emit(usage())
	case len(o.Command) == 0:
		fmt.Fprint(std.Err, usage())
		return exitOwn
	}
	code, err := c.run()
	if err != nil {
		return c.die(err)
	}
	return code
}

func (c *call) emit(text string) int {
	if _, err := fmt.Fprint(c.std.Out, text); err != nil {
		return c.die(err)
	}
	return 0
}

// say prints a message, with the level before it that --level-prefix asks for: syslog(3).
func (c *call) say(level int, text string) {
	prefix := ""
	if c.LevelPrefix {
		prefix = fmt.Sprintf("<%d>", level)
	}
	fmt.Fprintf(c.std.Err, "%sbwrap: %s\n", prefix, words.Printable(text))
}

func (c *call) die(err error) int {
	c.say(3, words.Message(err).In(optionWords))
	return exitOwn
}

// optionWords is the dialect of bubblewrap's command line. It has no options for most of what messages refer to: to run
// without a mechanism, say.
func optionWords(r words.Ref) (string, bool) {
	name, is := strings.CutPrefix(r.Field, steps.Option)
	return "--" + name, is
}

// usage is the text of --help.
func usage() string {
	name := os.Args[0]
	if base := filepath.Base(name); base != "bwrap" && base != "exe" {
		name += " bwrap"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [OPTIONS...] [--] COMMAND [ARGS...]\n\n", name)
	for _, row := range table() {
		fmt.Fprintf(&b, "    %-28s %s\n", strings.TrimSpace("--"+row.name+" "+row.args), row.help)
	}
	b.WriteString("\nOf brig's own, by variables:\n")
	for _, v := range Variables() {
		fmt.Fprintf(&b, "    %-28s %s\n", v.Name+"="+v.Value, v.Help)
	}
	return b.String()
}

// readAll reads a descriptor to its end, and closes it.
func readAll(fd int) (text []byte, err error) {
	for buf := make([]byte, 64<<10); ; {
		n, err := sys.Read(fd, buf)
		if text = append(text, buf[:max(n, 0)]...); err != nil || n == 0 {
			if fd > 2 && err == nil {
				err = unix.Close(fd)
			}
			return text, err
		}
		if len(text) > mostData {
			return nil, unix.EFBIG
		}
	}
}

// mostData bounds what a descriptor may hold. A jail's program carries it.
const mostData = 12 << 20

// run makes the jail, tells about it, and waits for the command.
func (c *call) run() (code int, err error) {
	if c.jail, err = c.describe(); err != nil {
		return 0, err
	}
	if c.DieWithParent { // of the thread that has created this process: prctl(2)
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			return 0, os.NewSyscallError("prctl", err)
		}
	}
	runner, err := nsjail.ForkedRunner()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	var tell func(pid int) error
	if c.InfoFD != NoFD || c.StatusFD != NoFD {
		tell = c.tell
	}
	cmd := runner.CommandOrdered(c.jail, tell)
	if err := cmd.Start(); err != nil {
		return 0, c.describeError(err)
	}
	if left, err := cmd.Leave(); left || err != nil {
		return 0, err
	}
	if err := errors.Join(runner.Retire(), c.closeInherited()); err != nil {
		return 0, err
	}
	result, err := cmd.Wait()
	if err != nil {
		return 0, err
	}
	code = exitCode(result)
	return code, errors.Join(c.tellExit(code), c.writeReport(result))
}

// exitCode is the command's, or 128 + N for signal N.
func exitCode(r *nsjail.Result) int {
	switch {
	case r.Status == nsjail.StatusTimeout:
		return 124
	case r.Signal != "":
		return 128 + r.SignalNumber()
	case r.ExitCode < 0: // an end of brig's
		return 128 + int(unix.SIGKILL)
	}
	return r.ExitCode
}

// describeError puts an error of the start into bubblewrap's words.
func (c *call) describeError(err error) error {
	var e *nsjail.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Op == "exec":
		return fmt.Errorf("execvp %s: %w", c.Command[0], e.Errno)
	case e.Op == "clone3" && errors.Is(e.Errno, unix.EPERM):
		return failf("No permissions to create a new namespace; %s", e.Remedy.In(optionWords))
	}
	told := *e
	if name, is := strings.CutPrefix(e.Op, steps.Option); is {
		told.Op = "--" + name
	}
	if e.Errno == unix.EINVAL && strings.HasPrefix(e.Detail.String(), "move_mount(") && e.Remedy == "" {
		told.Remedy = "a directory can be shown over a directory, and a file over a file"
	}
	return &told
}

// closeInherited closes what the jail alone is to hold: with a pipe among them its reader would wait for this process,
// too.
func (c *call) closeInherited() error {
	list, err := sys.Numbers("/proc/self/fd")
	for _, fd := range list {
		fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && fl&unix.FD_CLOEXEC == 0 && fd > 2 && fd != c.StatusFD {
			unix.Close(fd)
		}
	}
	return err
}

// writeReport writes the Result to the file of BRIG_REPORT.
func (c *call) writeReport(r *nsjail.Result) error {
	if c.report == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = c.report.Write(append(text, '\n'))
	}
	if err = errors.Join(err, c.report.Close()); err != nil {
		return fmt.Errorf("BRIG_REPORT: %w; name a file that can be written", err)
	}
	return nil
}
