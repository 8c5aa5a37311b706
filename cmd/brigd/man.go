package main

import (
	"io"
	"os"
	"strings"

	"brig/cmd/brigd/internal/auditcmd"
	"brig/cmd/brigd/internal/config"
	"brig/cmd/brigd/internal/policycmd"
	"brig/cmd/brigd/internal/tokencmd"
	"brig/internal/roff"
)

func manCmd(args []string, std stdio) int {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		return emit(std, commandHelp("man"))
	}
	if len(args) > 0 {
		return fail(std, "man: "+show(args[0])+" is not wanted; write brigd man alone")
	}
	return emit(std, manPage())
}

// manPage returns the manual page brigd(8).
func manPage() string {
	m := roff.New("BRIGD", "8", "brigd "+version, "System Administration")
	m.Section("NAME", "brigd - run untrusted programs for agents and other programs that ask")
	m.Section("SYNOPSIS")
	for _, c := range commands() {
		m.Raw(".br", strings.TrimSpace(`\fBbrigd `+roff.Text(c.name)+`\fR `+roff.Text(c.args)))
	}
	m.Section("DESCRIPTION", "brigd runs commands and code in the jails of brig(1) for callers over HTTP and JSON on a "+
		"Unix socket or, with proof of who calls, over TCP, and for models over the Model Context Protocol. Policies narrow "+
		"or refuse what a caller asks for, capability tokens bound a caller, and an audit log records every run. It needs "+
		"no root.")
	m.Section("EXAMPLES")
	for _, e := range examples() {
		m.Item(e.line, "", e.what)
	}
	m.Section("COMMANDS")
	for _, c := range commands() {
		m.Item(c.name, c.args, c.what)
	}
	m.Section("OPTIONS", "These are the flags of serve and mcp. Each has a key, in brackets, in the JSON file that "+
		"--config names; a flag overrides the file.")
	manRows(m)
	m.Section("SOCKETS", strings.Join(strings.Fields(socketText), " "))
	for _, c := range []struct {
		name string
		run  func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
	}{{"POLICY", policycmd.Run}, {"TOKEN", tokencmd.Run}, {"AUDIT", auditcmd.Run}} {
		m.Section("BRIGD " + c.name)
		var text strings.Builder
		c.run([]string{"--help"}, strings.NewReader(""), &text, os.Stderr) // a write to a strings.Builder does not fail
		m.Verbatim(text.String())
	}
	m.Section("SIGNALS", "At SIGTERM, SIGINT or SIGHUP no more runs are taken; those that have been taken go on for "+
		"--drain-timeout. A second signal cancels them.")
	m.Section("EXIT STATUS")
	m.Item("0", "", "ended as it was told to")
	m.Item("125", "", "brigd could not start; a line on stderr tells why")
	m.Section("SEE ALSO", "brig(1), unix(7), sd_listen_fds(3)")
	return m.String()
}

// manRows writes the settings of serve, and those that mcp has besides.
func manRows(m *roff.Page) {
	group, seen := "", map[string]bool{}
	for _, command := range []string{"serve", "mcp"} {
		for _, r := range config.Rows(command) {
			if seen[r.Flag] {
				continue
			}
			seen[r.Flag] = true
			if r.Group != group {
				group = r.Group
				m.Sub(group)
			}
			name, value, _ := strings.Cut(r.Flag, " ")
			m.Item(name, value, r.Help+" ["+r.Path+"]")
		}
	}
}
