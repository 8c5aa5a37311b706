package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"brig/nsjail"
)

// exitUsage means that brig could not make the jail: nothing has run.
const exitUsage = 125

// command is a word that follows brig.
type command struct {
	name  string
	args  string // what follows it, for the usage line
	what  string // one line for help
	jails bool   // it takes the flags of a jail and a command to run in it
	run   func(args []string, std stdio) int
}

// commands is the table of commands, in the order that help shows.
func commands() []command {
	jail := "[FLAG...] [--] COMMAND [ARG...]"
	return []command{
		{"run", jail, "run a command in a jail and exit as it did", true, jailed("run", run)},
		{"explain", jail, "print what run would do, system call by system call, and do nothing", true, jailed("explain", explain)},
		{"spec", jail, "print the JSON that the flags mean, for --spec or for the Go library", true, jailed("spec", printSpec)},
		{"doctor", "[--json|--delegate USER]", "say which mechanisms this machine has and what to do about the missing ones",
			false, doctorCmd},
		{"gc", "[--json] [--cgroup-parent PATH]", "remove the control groups that killed runs have left", false, gcCmd},
		{"policy", "list|show|schema|lint|diff|explain [ARG...]", "check and compare what agents may do (brigd policy)",
			false, daemonCmd("policy")},
		{"token", "keygen|mint|attenuate|inspect|verify|revoke [ARG...]", "make and narrow capability tokens (brigd token)", false, daemonCmd("token")},
		{"audit", "verify|show [ARG...]", "check and read an audit log (brigd audit)", false, daemonCmd("audit")},
		{"serve", "[FLAG...]", "run jails for programs that ask by HTTP (brigd serve)", false, daemonCmd("serve")},
		{"mcp", "[FLAG...]", "run jails for a model that asks by MCP (brigd mcp)", false, daemonCmd("mcp")},
		{"version", "[--json]", "print the version", false, versionCmd},
		{"help", "[COMMAND|TOPIC]", "print help; the topics are net, limits and seccomp", false, helpCmd},
		{"completion", "bash|zsh|fish", "print the completion script of a shell", false, completionCmd},
		{"man", "", "print the manual page brig(1) in roff", false, manCmd},
	}
}

// dispatch runs the command that args name and gives the exit code.
func dispatch(args []string, std stdio) int {
	if len(args) == 0 {
		return fail(std, "there is no command; write brig run -- COMMAND, or brig help")
	}
	word, rest := args[0], args[1:]
	switch word {
	case "-h", "--help":
		word = "help"
	case "-V", "--version":
		word = "version"
	}
	var names []string
	for _, c := range commands() {
		if c.name == word {
			return c.run(rest, std)
		}
		names = append(names, c.name)
	}
	shown := show(word)
	if strings.HasPrefix(word, "-") {
		return fail(std, shown+" comes too early; flags follow the command, as in brig run --timeout 30s -- id")
	}
	if near := nsjail.Nearest(word, names); near != "" {
		return fail(std, shown+" is not a command of brig; did you mean brig "+near+"?")
	}
	return fail(std, shown+" is not a command of brig; to run it in a jail write brig run -- "+shown)
}

// jailed makes a command of a function that wants parsed flags.
func jailed(name string, act func(*invocation, stdio) int) func([]string, stdio) int {
	return func(args []string, std stdio) int {
		inv, help, err := parse(name, args, fileReader(std.in))
		if err != nil {
			return fail(std, strings.Split(err.Error(), "\n")...)
		}
		if help {
			return emit(std, commandHelp(name))
		}
		if lines := inv.problems(); len(lines) > 0 {
			code := fail(std, lines...)
			if name == "run" {
				refuse(inv, lines[0], std)
			}
			return code
		}
		return act(inv, std)
	}
}

// printSpec is `brig spec`.
func printSpec(inv *invocation, std stdio) int {
	if bad := inv.spec.NotUTF8(); len(bad) > 0 {
		return fail(std, inv.translate(bad[0]))
	}
	return emit(std, string(inv.spec.JSON()))
}

// onlyJSON reads the flags of a command that has none but --json and --help; code is -1 when the command goes on.
func onlyJSON(name string, args []string, std stdio) (asJSON bool, code int) {
	for _, a := range args {
		switch a {
		case "--json":
			asJSON = true
		case "-h", "--help":
			return false, emit(std, commandHelp(name))
		default:
			return false, fail(std, fmt.Sprintf("%s: %s is not a flag of it; write brig %s or brig %s --json", name, show(a), name, name))
		}
	}
	return asJSON, -1
}

// emit writes the answer of a command to stdout.
func emit(std stdio, text string) int {
	if _, err := io.WriteString(std.out, text); err != nil {
		return fail(std, "cannot write to stdout: "+reason(err)+"; give it a reader or more room")
	}
	return 0
}

// fail prints each line, says that nothing has run, and gives the exit code for that.
func fail(std stdio, lines ...string) int {
	const most = 10
	for i, line := range lines {
		if i == most {
			line = "and " + strconv.Itoa(len(lines)-most) + " more problems"
		}
		// When stderr is gone too, the exit code is all that is left to say it with.
		if _, err := fmt.Fprintln(std.err, "brig: "+line); err != nil || i == most {
			break
		}
	}
	return exitUsage
}

// reason is an error without the operation and the path that the message names already.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// show makes a word of the caller safe to print and short enough for a line.
func show(s string) string {
	const most = 64
	tail := ""
	if len(s) > most {
		s, tail = s[:most], "... ("+strconv.Itoa(len(s))+" bytes)"
	}
	return strconv.Quote(s) + tail
}
