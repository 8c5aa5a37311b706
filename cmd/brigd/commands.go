package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brig/cmd/brigd/internal/auditcmd"
	"brig/cmd/brigd/internal/config"
	"brig/cmd/brigd/internal/policycmd"
	"brig/cmd/brigd/internal/tokencmd"
	"brig/nsjail"
)

// version is the version of this source.
const version = "0.1.0"

// exitUsage means that brigd could not do what it was told to: nothing has been served.
const exitUsage = 125

// command is a word that follows brigd.
type command struct {
	name, args string
	what       string // one line for help
	run        func(args []string, std stdio) int
	ownHelp    bool // it answers --help itself
}

// commands is the table of commands, in the order of help.
func commands() []command {
	return []command{
		{"serve", "[FLAG...]", "serve HTTP and JSON, by default on a Unix socket of your own", serveCmd, false},
		{"mcp", "[FLAG...]", "serve the Model Context Protocol, on stdin and stdout or with --http", mcpCmd, false},
		{"policy", "list|show|schema|lint|diff|explain [ARG...]", "check, compare and explain policies",
			wrapped(policycmd.Run), true},
		{"token", "keygen|mint|attenuate|inspect|verify|revoke [ARG...]",
			"make, narrow, show, check and revoke capability tokens", wrapped(tokencmd.Run), true},
		{"audit", "verify|show [ARG...]", "verify and show the audit log", wrapped(auditcmd.Run), true},
		{"version", "[--json]", "print the version", versionCmd, false},
		{"help", "[COMMAND]", "print help", helpCmd, false},
		{"completion", "bash|zsh|fish", "print the completion script of a shell", completionCmd, false},
		{"man", "", "print the manual page brigd(8) in roff", manCmd, false},
	}
}

// wrapped makes a command of one that has its own flags and help.
func wrapped(run func(args []string, stdin io.Reader, stdout, stderr io.Writer) int) func([]string, stdio) int {
	return func(args []string, std stdio) int { return run(args, std.in, std.out, std.err) }
}

// dispatch runs the command that args name and gives the exit code.
func dispatch(args []string, std stdio) int {
	if len(args) == 0 {
		return fail(std, "there is no command; write brigd serve, or brigd help")
	}
	word := args[0]
	switch word {
	case "-h", "--help":
		word = "help"
	case "-V", "--version":
		word = "version"
	}
	var names []string
	for _, c := range commands() {
		if c.name == word {
			return c.run(args[1:], std)
		}
		names = append(names, c.name)
	}
	if strings.HasPrefix(word, "-") {
		return fail(std, show(word)+" comes too early; flags follow the command, as in brigd serve --running 8")
	}
	if near := nsjail.Nearest(word, names); near != "" {
		return fail(std, show(word)+" is not a command of brigd; did you mean brigd "+near+"?")
	}
	return fail(std, show(word)+" is not a command of brigd; write one of "+strings.Join(names, ", "))
}

// fail prints one line and gives the exit code for it.
func fail(std stdio, line string) int {
	if _, err := fmt.Fprintln(std.err, "brigd: "+printable(line)); err != nil {
		return exitUsage // the code is all that is left to say it with
	}
	return exitUsage
}

// emit writes the answer of a command to stdout.
func emit(std stdio, text string) int {
	if _, err := io.WriteString(std.out, text); err != nil {
		return fail(std, "cannot write to stdout: "+err.Error()+"; give it a reader or more room")
	}
	return 0
}

// settings reads the flags of serve or mcp. Without any it has answered already, with code.
func settings(name string, args []string, std stdio) (c *config.Config, code int) {
	c, err := config.Parse(name, args)
	if errors.Is(err, config.ErrHelp) {
		return nil, emit(std, commandHelp(name))
	}
	if err != nil {
		return nil, fail(std, name+": "+err.Error())
	}
	return c, 0
}

func versionCmd(args []string, std stdio) int {
	switch {
	case len(args) == 0:
		return emit(std, "brigd "+version+"\n")
	case len(args) == 1 && args[0] == "--json":
		return emit(std, `{"version":`+strconv.Quote(version)+"}\n")
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		return emit(std, commandHelp("version"))
	}
	return fail(std, "version: "+show(args[0])+" is not a flag of it; write brigd version or brigd version --json")
}

// show makes a word of the caller safe to print and short enough for a line.
func show(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}

// printable escapes what would act on a terminal or begin another line.
func printable(s string) string {
	q := strconv.Quote(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return strings.ReplaceAll(q, `\\`, `\`)
}
