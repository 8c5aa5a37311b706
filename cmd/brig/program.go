package main

import (
	"strings"

	"brig/internal/cli"
	"brig/internal/words"
)

// version is the version of this source.
const version = "0.1.0"

// program returns the table of commands, in the order of help.
func program() *cli.Program {
	return &cli.Program{
		Name: "brig", Version: version, Summary: "run an untrusted command in a jail and say truthfully what happened",
		Commands: []cli.Command{
			payload("run", "run a command in a jail and exit as it did", run),
			payload("explain", "print what run would do, system call by system call, and do nothing", explain),
			payload("spec", "print the JSON that the flags mean, for --spec or for the Go library", printSpec),
			{Name: "doctor", Args: "[--json|--delegate USER]", Run: doctorCmd, Flags: new(doctorOptions).flags,
				About: doctorAbout,
				What:  "say which mechanisms this machine has and what to do about the missing ones"},
			{Name: "gc", Args: "[--json] [--cgroup-parent PATH]", Run: gcCmd, Flags: new(gcOptions).flags, About: gcAbout,
				What: "remove the control groups that killed runs have left"},
			daemon("policy", "list|show|schema|lint|diff|explain [ARG...]", "check and compare what agents may do"),
			daemon("token", "keygen|mint|attenuate|inspect|verify|revoke [ARG...]", "make and narrow capability tokens"),
			daemon("audit", "verify|show [ARG...]", "check and read an audit log"),
			daemon("serve", "[FLAG...]", "run jails for programs that ask by HTTP"),
			daemon("mcp", "[FLAG...]", "run jails for a model that asks by MCP"),
		},
		Examples: examples,
		Topics:   topics(), Try: "brig run -- COMMAND", TryFlag: "brig run --timeout 30s -- id",
		Otherwise: "to run it in a jail write brig run -- ",
		HelpEnd: "brig help COMMAND lists the flags; brig help net, limits or seccomp is about these. " +
			"brig man | man -l - is the manual page.",
		Manual: cli.Manual{Section: "1", Book: "User Commands", Of: "explain", // which has all flags
			Description: description, Options: options, Rest: manualRest},
	}
}

func examples() []cli.Example {
	return []cli.Example{
		{"brig run -- id", "a command in the default jail: no network, no host files but /usr"},
		{"brig run --input ./job --output ./out -- python3 /input/analyse.py",
			"read the directory job, write to the directory out"},
		{"brig run --work . --timeout 30s --pids-limit 64 -- make test", "a build with limits"},
		{"brig run --work . -m 512m --cpus 1.5 --cpu-time 1m -- ./untrusted",
			"limits that a control group holds for all its processes together"},
		{"brig run --rootfs ./alpine --tty -- /bin/sh", "a shell in another distribution"},
		{"brig run --work . --allow pypi.org --allow files.pythonhosted.org -- pip install -t . requests",
			"a network of two names, for any program; the rest is refused and recorded"},
		{"brig run --work . --json --max-output 64k -- ./untrusted", "a report for a program to read"},
		{"brig explain --work . -- make test", "what run would do, without doing it"},
		{"brig explain --seccomp", "the system-call filter"},
		{"brig spec --work . -- make test >job.json; brig run --spec job.json", "the same jail as a file"},
	}
}

// exitCodes returns the exit codes of run.
func exitCodes() [][2]string {
	return [][2]string{
		{"0-255", "the command's own"},
		{"124", "the time limit ended it"},
		{"125", "brig could not make the jail; nothing has run"},
		{"126", "the command cannot be executed"},
		{"127", "the command is not in the jail's root"},
		{"128+N", "signal N ended it"},
	}
}

// payload returns a command that takes the flags of a jail and a command to run in it.
func payload(name, what string, act func(*invocation, cli.Stdio) int) cli.Command {
	return cli.Command{Name: name, Args: "[FLAG...] [--] COMMAND [ARG...]", What: what, Kind: cli.Payload,
		Flags: func() []cli.Flag { return newBuilder(name, nil).flags() },
		After: func(h *cli.Help) {
			h.WriteString("\nSizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.\n" +
				"A relative SRC, or PATH of a device, starts at the caller's directory.\n\nExit codes:\n")
			for _, e := range exitCodes() {
				h.Row(e[0], e[1], 14)
			}
		},
		Run: func(args []string, std cli.Stdio) int {
			inv, help, err := parse(name, args, fileReader(std.In))
			if err != nil {
				return std.Fail(strings.Split(err.Error(), "\n")...)
			}
			if help {
				return std.Emit(program().CommandHelp(name))
			}
			if lines := inv.problems(); len(lines) > 0 {
				code := std.Fail(lines...)
				if name == "run" {
					refuse(inv, lines[0], std)
				}
				return code
			}
			return act(inv, std)
		}}
}

// flagsOnly parses the command line of a command that takes only flags. The code is -1 if the command is to proceed.
func flagsOnly(name, usage string, flags []cli.Flag, args []string, std cli.Stdio) (code int) {
	rest, help, err := (&cli.Table{Flags: flags, Hints: hints}).Parse(args)
	switch {
	case err != nil:
		return std.Fail(strings.Split(name+": "+err.Error(), "\n")...)
	case help:
		return std.Emit(program().CommandHelp(name))
	case len(rest) > 0:
		return std.Fail(name + ": " + words.Quote(rest[0]) + " is not wanted; write " + usage)
	}
	return -1
}

// printSpec runs `brig spec`.
func printSpec(inv *invocation, std cli.Stdio) int {
	if bad := inv.spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(inv.translate(bad[0]))
	}
	return std.Emit(string(inv.spec.JSON()))
}
