package main

import (
	"strings"

	"brig/cmd/brigd/internal/config"
	"brig/nsjail"
)

// example is a command line worth copying.
type example struct{ command, line, what string }

func examples() []example {
	return []example{
		{"serve", "brigd serve", "serve on a Unix socket that only you and root can reach"},
		{"serve", `curl --unix-socket $XDG_RUNTIME_DIR/brigd.sock http://brigd/v1/run --json '{"language":"python","code":"print(6*7)"}'`, "run a program there"},
		{"serve", "brigd serve --policy python-data --audit audit.jsonl --running 8 --rate 5", "a policy, an audit log, and bounds on callers"},
		{"serve", "brigd serve --listen tcp:127.0.0.1:8470 --api-key-file keys", "TCP, for callers with a key"},
		{"serve", "brigd serve --config /etc/brigd.json", "the same settings in a file"},
		{"mcp", "brigd mcp", "MCP on stdin and stdout: what to write into an MCP client's configuration"},
		{"mcp", "brigd mcp --tools tools.yaml --policy minimal", "tools of your own, and a policy"},
		{"mcp", "brigd mcp --http --listen tcp:127.0.0.1:8471 --api-key-file keys", "MCP by HTTP at /mcp"},
	}
}

// helpWidth is the widest line of help.
const helpWidth = 100

func helpCmd(args []string, std stdio) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return emit(std, mainHelp())
	}
	var names []string
	for _, c := range commands() {
		if c.name == args[0] {
			if c.ownHelp {
				return c.run([]string{"--help"}, std)
			}
			return emit(std, commandHelp(c.name))
		}
		names = append(names, c.name)
	}
	fix := "write one of " + strings.Join(names, ", ")
	if near := nsjail.Nearest(args[0], names); near != "" {
		fix = "did you mean " + near + "?"
	}
	return fail(std, "help: "+show(args[0])+" is not a command of brigd; "+fix)
}

func mainHelp() string {
	var b strings.Builder
	writeExamples(&b, "")
	b.WriteString("\nbrigd: run untrusted programs for agents and other programs that ask.\n\nUsage: brigd COMMAND\n\nCommands:\n")
	for _, c := range commands() {
		wrap(&b, c.name, c.what, 14)
	}
	b.WriteString("\nbrigd help COMMAND lists the flags.\n")
	return b.String()
}

func commandHelp(name string) string {
	var b strings.Builder
	writeExamples(&b, name)
	for _, c := range commands() {
		if c.name == name {
			if b.Len() > 0 {
				b.WriteString("\n")
			}
			b.WriteString("Usage: " + strings.TrimSpace("brigd "+c.name+" "+c.args) + "\n\n" + strings.ToUpper(c.what[:1]) + c.what[1:] + ".\n")
		}
	}
	if name != "serve" && name != "mcp" {
		return b.String()
	}
	group := ""
	for _, r := range config.Rows(name) {
		if r.Group != group {
			group = r.Group
			b.WriteString("\n" + group + ":\n")
		}
		wrap(&b, r.Flag, r.Help+" ["+r.Path+"]", 28)
	}
	b.WriteString("\nFile:\n")
	wrap(&b, "--config FILE", "read settings from this JSON file, under the keys that stand in brackets: {\"queue\": {\"running\": 8}}; a flag overrides it", 28)
	b.WriteString(helpTail)
	return b.String()
}

const helpTail = `
Sizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.

` + socketText + `

Signals:
  SIGTERM, SIGINT, SIGHUP   take no more runs, let those go on that have been taken, for
                            --drain-timeout, and end; a second one cancels them

Exit codes:
  0    ended as it was told to
  125  brigd could not start; a line on stderr says why
`

// socketText tells about sockets what the help of the flags does not.
const socketText = `The default socket is $XDG_RUNTIME_DIR/brigd.sock; without that variable /run/brigd/brigd.sock
for root and /tmp/brigd-UID/brigd.sock for anybody else, in a directory with mode 0700. Sockets
that systemd has opened (LISTEN_FDS) are served instead, under the same rules, and it is told when
brigd is ready (NOTIFY_SOCKET).`

func writeExamples(b *strings.Builder, name string) {
	first := true
	for _, e := range examples() {
		if name != "" && e.command != name {
			continue
		}
		if first {
			b.WriteString("Examples:\n")
			first = false
		}
		b.WriteString("  # " + e.what + "\n  " + e.line + "\n")
	}
}

// wrap writes a term and its explanation, in two columns where the term fits.
func wrap(b *strings.Builder, term, text string, column int) {
	line := "  " + term
	if len(line) > column {
		b.WriteString(line + "\n")
		line = ""
	}
	line += strings.Repeat(" ", column+2-len(line))
	start := len(line)
	for _, word := range strings.Fields(text) {
		if len(line) > start && len(line)+1+len(word) > helpWidth {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", start)
		}
		if len(line) > start {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}
