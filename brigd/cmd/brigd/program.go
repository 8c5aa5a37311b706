package main

import (
	"errors"
	"io"
	"strings"

	"brig/brigd/internal/auditcmd"
	"brig/brigd/internal/batch"
	"brig/brigd/internal/boxcmd"
	"brig/brigd/internal/config"
	"brig/brigd/internal/images"
	"brig/brigd/internal/policycmd"
	"brig/brigd/internal/tokencmd"
	"brig/brigd/internal/tools/yamljson"
	"brig/brigd/internal/verify"
	"brig/internal/cli"
	"brig/internal/words"
)

const version = cli.Version

// program returns the table of commands, in the order of help.
func program() *cli.Program {
	submit := tool("submit", "[FLAG...] -- COMMAND [ARG...]", "put a command into the queue of a brigd",
		batch.Usage, batch.Submit)
	many := tool("map", "[FLAG...] --jobs FILE --out FILE", "run many jobs by a brigd, with progress and a plot",
		batch.Usage, batch.Map)
	box := tool("box", "new|exec|ps|logs|attach|port|rm [ARG...]", "use living sandboxes of a brigd from a terminal",
		boxcmd.Usage, boxcmd.Run)
	submit.Jails, many.Jails, box.Jails = true, true, true
	return &cli.Program{
		Name: "brigd", Version: version, Summary: "run untrusted programs for agents and other programs that ask",
		Commands: []cli.Command{
			server("serve", "serve HTTP and JSON, by default on a Unix socket of your own", serve),
			server("mcp", "serve the Model Context Protocol, on stdin and stdout or with --http", serveMCP),
			server("worker", "run what comes from a durable queue, with the rules, jails and audit log of serve", work),
			tool("image", "pull|import|list|inspect|rm|prune|export|commit [ARG...]",
				"bring images into the store, show and remove them, make new ones", images.Usage, images.Run),
			tool("policy", "list|show|schema|lint|diff|explain [ARG...]", "check, compare and explain policies",
				policycmd.Usage, policycmd.Run),
			tool("token", "keygen|mint|attenuate|inspect|verify|revoke [ARG...]",
				"make, narrow, show, check and revoke capability tokens",
				tokencmd.Usage, tokencmd.Run),
			tool("audit", "verify|show [ARG...]", "verify and show the audit log", auditcmd.Usage, auditcmd.Run),
			tool("yaml", "FILE|-", "print a YAML file as JSON, for brig convert", yamljson.Usage, yamljson.Run),
			submit,
			many,
			box,
			tool("queue", "[FLAG...] [result|cancel|requeue ID]", "show the queue of a brigd, and what was given up",
				batch.Usage, batch.Queue),
			tool("verify", "--spec FILE [FLAG...]", "perform attacks in a configuration and show what it holds",
				verify.Usage, verify.Run),
		},
		WordsOnly: true,
		Examples:  examples,
		Try:       "brigd serve", TryFlag: "brigd serve --running 8", HelpEnd: "brigd help COMMAND lists the flags.",
		Manual: cli.Manual{Section: "8", Book: "System Administration", Of: "mcp", // which has all flags
			Description: description, Options: options, Rest: manualRest},
	}
}

func examples() []cli.Example {
	return []cli.Example{
		{"brigd serve", "serve on a Unix socket that only you and root can reach"},
		{`curl --unix-socket $XDG_RUNTIME_DIR/brigd.sock http://brigd/v1/run ` +
			`--json '{"language":"python","code":"print(6*7)"}'`,
			"run a program there"},
		{"brigd serve --policy python-data --audit audit.jsonl --running 8 --rate 5",
			"a policy, an audit log, and bounds on callers"},
		{"brigd serve --listen tcp:127.0.0.1:8470 --api-key-file keys", "TCP, for callers with a key"},
		{"brigd serve --config /etc/brigd.json", "the same settings in a file"},
		{"brigd image pull python:3.12-slim", "an image, for brig run --image"},
		{"brigd mcp", "MCP on stdin and stdout: what to write into an MCP client's configuration"},
		{"brigd mcp --tools tools.yaml --policy minimal", "tools of your own, and a policy"},
		{"brigd mcp --http --listen tcp:127.0.0.1:8471 --api-key-file keys", "MCP by HTTP at /mcp"},
	}
}

// server returns a command that runs until a signal arrives, with the settings from its flags and its file.
func server(name, what string, run func(*config.Config, cli.Stdio) int) cli.Command {
	return cli.Command{Name: name, Args: "[FLAG...]", What: what, Kind: cli.Service, Jails: true,
		Flags: func() []cli.Flag { return config.Flags(name) },
		After: func(h *cli.Help) {
			h.WriteString("\nFile:\n")
			h.Row("--config FILE", "read settings from this JSON file, under the keys that stand in brackets: "+
				`{"queue": {"running": 8}}; a flag overrides it`, 28)
			h.WriteString(helpTail)
		},
		Run: func(args []string, std cli.Stdio) int {
			c, err := config.Parse(name, args)
			if errors.Is(err, config.ErrHelp) {
				return std.Emit(program().CommandHelp(name))
			}
			if err != nil {
				return fail(std, name+": "+err.Error())
			}
			return run(c, std)
		}}
}

// tool returns a command that has subcommands, flags and help.
func tool(name, args, what, usage string, run func(args []string, stdin io.Reader, stdout,
	stderr io.Writer) int) cli.Command {
	return cli.Command{Name: name, Args: args, What: what, Text: usage,
		Run: func(args []string, std cli.Stdio) int { return run(args, std.In, std.Out, std.Err) }}
}

// fail prints one line and returns the exit code for an invalid command line.
func fail(std cli.Stdio, line string) int { return std.Fail(words.Printable(line)) }

const helpTail = `
Sizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.

` + socketText + `

Signals:
  SIGTERM, SIGINT, SIGHUP   accept no more runs, wait up to --drain-timeout for those that
                            were accepted, and end; a second signal cancels them

Exit codes:
  0    brigd has ended after a signal
  125  brigd could not start; a line on stderr says why
`

// socketText describes the sockets that no flag names.
const socketText = `The default socket is $XDG_RUNTIME_DIR/brigd.sock; without that variable /run/brigd/brigd.sock
for root and /tmp/brigd-UID/brigd.sock for anybody else, in a directory with mode 0700. Sockets
that systemd has opened (LISTEN_FDS) are served instead, under the same rules, and it is told when
brigd is ready (NOTIFY_SOCKET).`

const description = "brigd runs commands and code in the jails of brig(1) for callers over HTTP and JSON on a " +
	"Unix socket or, with proof of who calls, over TCP, and for models over the Model Context Protocol. Policies narrow " +
	"or refuse what a caller asks for, capability tokens bound a caller, and an audit log records every run. It needs " +
	"no root."

const options = "These are the flags of serve and mcp. Each has a key, in brackets, in the JSON file that " +
	"--config names; a flag overrides the file."

// manualRest writes the sections of brigd(8) that follow the flags.
func manualRest(m *cli.Page) {
	m.Section("SOCKETS", strings.Join(strings.Fields(socketText), " "))
	for _, c := range [][2]string{{"IMAGE", images.Usage}, {"POLICY", policycmd.Usage}, {"TOKEN", tokencmd.Usage},
		{"AUDIT", auditcmd.Usage}, {"YAML", yamljson.Usage}, {"SUBMIT, MAP AND QUEUE", batch.Usage},
		{"BOX", boxcmd.Usage}, {"VERIFY", verify.Usage}} {
		m.Section("BRIGD " + c[0])
		m.Verbatim(c[1])
	}
	m.Section("SIGNALS", "After SIGTERM, SIGINT or SIGHUP no more runs are accepted; those that were accepted may go on "+
		"for --drain-timeout. A second signal cancels them.")
	m.Section("EXIT STATUS")
	m.Item("0", "", "brigd has ended after a signal")
	m.Item("125", "", "brigd could not start; a line on stderr tells why")
	m.Section("SEE ALSO", "brig(1), unix(7), sd_listen_fds(3)")
}
