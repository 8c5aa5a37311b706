package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"brig/internal/cli"
	"brig/internal/words"
)

// action is a command: its flags, and what it does with them.
type action interface {
	flags() []cli.Flag
	// run performs the command. Its error is printed, and the exit code is cli.ExitUsage then.
	run(words []string, std cli.Stdio) (code int, err error)
}

// command returns a command that is an action. Its words and flags may have any order.
func command[T any, P interface {
	*T
	action
}](c cli.Command) cli.Command {
	c.Flags = func() []cli.Flag { return P(new(T)).flags() }
	c.Run = func(args []string, std cli.Stdio) int {
		o := P(new(T))
		list, help, err := flagsAndWords(o.flags(), args)
		if help {
			return std.Emit(program().CommandHelp(c.Name))
		}
		code := 0
		if err == nil {
			code, err = o.run(list, std)
		}
		if err != nil {
			return fail(std, c.Name, err)
		}
		return code
	}
	return c
}

// fail prints the error of a command, of which names in files may be a part.
func fail(std cli.Stdio, name string, err error) int {
	lines := strings.Split(name+": "+told(err), "\n")
	for i := range lines {
		lines[i] = words.Printable(lines[i])
	}
	return std.Fail(lines...)
}

// flagsAndWords parses flags and words in any order.
func flagsAndWords(flags []cli.Flag, args []string) (list []string, help bool, err error) {
	table := &cli.Table{Flags: flags}
	for {
		rest, help, err := table.Parse(args)
		switch before := len(args) - len(rest) - 1; {
		case err != nil || help || len(rest) == 0:
			return list, help, err
		case before >= 0 && args[before] == "--":
			return append(list, rest...), false, nil
		default:
			list, args = append(list, rest[0]), rest[1:]
		}
	}
}

// noWords refuses words after the flags of a command that takes none.
func noWords(list []string, usage string) error {
	if len(list) > 0 {
		return fmt.Errorf("%s is not wanted; write %s", words.Quote(list[0]), usage)
	}
	return nil
}

// daemon returns a command that brigd performs, because its code would slow down each start of brig. It executes the
// brigd beside this program, or else the one on PATH. What brigd does for its own callers is no command of brig: see
// Neighbour in program.
func daemon(name, args, what string) cli.Command {
	return cli.Command{Name: name, Args: args, What: what + " (brigd " + name + ")",
		Run: func(args []string, std cli.Stdio) int { return execDaemon(name, args, std) }}
}

// execDaemon replaces this process by brigd. It returns only on failure.
func execDaemon(name string, args []string, std cli.Stdio) int {
	path, err := findDaemon("which has this command")
	if err != nil {
		return fail(std, name, err)
	}
	err = syscall.Exec(path, append([]string{"brigd", name}, args...), os.Environ()) // execve(2)
	return std.Fail(name + ": " + words.Quote(path) + ": " + cli.Reason(err) + "; install brigd again")
}

// findDaemon returns the path of brigd. does is what brigd is for, in its error.
func findDaemon(does string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "brigd")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath("brigd") // a brigd in the current directory is an error: exec.ErrDot
	if err != nil {
		err = errors.New("brigd, " + does + ", is neither beside brig nor on PATH; install it (make install), or name its " +
			"directory in PATH")
	}
	return path, err
}
