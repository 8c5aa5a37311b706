package main

import (
	_ "embed"
	"slices"
	"strings"

	"brig/cmd/brig/internal/bwrap"
	"brig/cmd/brig/internal/changescmd"
	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/doctorcmd"
	"brig/cmd/brig/internal/gccmd"
	"brig/cmd/brig/internal/isolate"
	"brig/internal/cli"
	"brig/nsjail/spec"
)

// program returns the table of commands, in the order of help.
func program() *cli.Program {
	changed := changescmd.Commands(open)
	return &cli.Program{
		Name: "brig", Version: cli.Version, Summary: "run an untrusted command in a jail and say truthfully what happened",
		Commands: []cli.Command{
			payload("run", "run a command in a jail and exit as it did", run),
			payload("explain", "print what run would do, system call by system call, and do nothing", printPlan),
			learnCommand(),
			payload("spec", "print the JSON that the flags mean, for --spec or for the Go library", printSpec),
			convertCommand(),
			verifyCommand(),
			doctorcmd.Command(open),
			gccmd.Command(open),
			changed[0], changed[1], changed[2], changed[3],
			{Name: "isolate", Args: "[OPTION...] --init|--run|--cleanup [-- PROGRAM [ARG...]]", Run: isolate.Main, Foreign: true,
				What: "take isolate's command line, as when called by that name; /usr/share/doc/brig/docs/isolate.md"},
			{Name: "bwrap", Args: "[OPTION...] [--] COMMAND [ARG...]", Run: bwrap.Main, Foreign: true,
				What: "take bubblewrap's command line, as when called by that name; /usr/share/doc/brig/docs/bwrap.md"},
			daemon("image", "pull|import|list|inspect|rm|prune|export|commit [ARG...]", "bring, show and remove images"),
		},
		Examples: examples,
		Topics:   topics(), Try: "brig run -- COMMAND", TryFlag: "brig run --timeout 30s -- id",
		Otherwise: "to run it in a jail write brig run -- ",
		HelpEnd: "brig help COMMAND lists the flags; brig help net, limits or seccomp is about these. " +
			"brig man | man -l - is the manual page.\n" +
			"Agents and other programs are served by brigd: brigd help lists serve, mcp, policy, token, audit, queue and more.",
		Neighbour: cli.Neighbour{Name: "brigd", Commands: []string{"serve", "mcp", "worker", "policy", "token", "audit",
			"yaml", "submit", "map", "queue"}},
		Manual: cli.Manual{Section: "1", Book: "User Commands", Of: "explain", // which has all flags
			Description: description, Options: options, Rest: manualRest},
	}
}

// open returns the console of a command.
func open(std cli.Stdio) *console.Console {
	help := func(command string) string { return program().CommandHelp(command) }
	return &console.Console{Stdio: std, Words: inFlags, Help: help}
}

// exampleText has command lines, and below each what it is for.
//
//go:embed examples.txt
var exampleText string

func examples() (list []cli.Example) {
	for command := range strings.SplitSeq(strings.TrimSpace(exampleText), "\n\n") {
		line, what, _ := strings.Cut(command, "\n    ")
		list = append(list, cli.Example{line, what})
	}
	return list
}

// exitCodes returns the exit codes of run.
func exitCodes() [][2]string {
	return [][2]string{
		{"0-255", "the command's own"},
		{"123", "it has run, and what it has changed could not all be kept"},
		{"124", "the time limit ended it"},
		{"125", "brig could not make the jail; nothing has run"},
		{"126", "the command cannot be executed"},
		{"127", "the command is not in the jail's root"},
		{"128+N", "signal N ended it"},
	}
}

// payload returns a command that takes the flags of a jail and a command to run in it.
func payload(name, what string, act func(*invocation, *console.Console) int) cli.Command {
	return cli.Command{Name: name, Args: "[FLAG...] [--] COMMAND [ARG...]", What: what, Kind: cli.Payload,
		Flags: func() []cli.Flag { return newBuilder(name, nil).flags() },
		After: func(h *cli.Help) {
			h.WriteString("\nSizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.\n" +
				"A relative SRC, or PATH of a device, starts at the caller's directory.\n\nExit codes:\n")
			for _, e := range exitCodes() {
				h.Row(e[0], e[1], 14)
			}
		},
		Run: func(args []string, streams cli.Stdio) int {
			std := open(streams)
			inv, help, err := parse(name, args, fileReader(std.In))
			if err != nil {
				return std.Fail(strings.Split(err.Error(), "\n")...)
			}
			if help {
				return std.Emit(std.Help(name))
			}
			if err := inv.findImage(std); err != nil {
				code := std.Fail(std.Told(err))
				if name == "run" {
					refuse(inv, std.Told(err), std)
				}
				return code
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

// printSpec runs `brig spec`.
func printSpec(inv *invocation, std *console.Console) int {
	if inv.image != "" {
		inv.spec.Rootfs.Path = "" // a directory of this machine; the image's digest identifies the tree
	}
	if bad := inv.spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(inv.translate(bad[0]))
	}
	return std.Emit(string(inv.spec.JSON()))
}

// description is the text of the section DESCRIPTION of brig(1).
const description = "brig runs a command in Linux namespaces of its own, on a read-only root made of the host's " +
	"/usr, without network, without capabilities, behind a system-call filter and with limits. It needs no daemon and " +
	"no root. What the machine cannot give, brig refuses to go without, unless --optional says so. " +
	"Agents and other programs are served by brigd(8)."

// options is the introduction of the section OPTIONS.
const options = "These are the flags of run, explain and spec. A flag is written --name VALUE or --name=VALUE; " +
	"those with two values take two words. The first word that is no flag, or what follows --, is the command."

// manualText has the sections of brig(1) that follow the flags.
//
//go:embed manual.txt
var manualText string

// manualRest writes these sections, and the lists that belong to them.
func manualRest(m *cli.Page) {
	flags := func(list []cli.Flag) {
		for _, f := range list {
			m.Item("--"+f.Name, f.Args, f.Help)
		}
	}
	about := strings.TrimSpace(strings.ReplaceAll(learnAbout, "\n", " "))
	text := strings.NewReplacer("$HELD", strings.Join(heldByGroup(), ", "), "$LEARN", about).Replace(manualText)
	for title, paragraphs := range sections(text) {
		m.Section(title, paragraphs...)
		switch title {
		case "LEARNING":
			flags(newBuilder("learn", nil).learnFlags())
		case "VERIFICATION":
			flags(verifyFlags(nil))
		case "BUBBLEWRAP":
			for _, v := range bwrap.Variables() {
				m.Item(v.Name, v.Value, v.Help)
			}
		case "EXIT STATUS":
			for _, e := range exitCodes() {
				m.Item(e[0], "", e[1])
			}
		}
	}
}

// heldByGroup returns the limits that only a control group can hold.
func heldByGroup() []string {
	others := []string{"cpu_time", "protect", "apparmor", "selinux"}
	return mechanisms(func(m spec.Mechanism) bool { return m.OnDemand && !slices.Contains(others, m.Name) })
}
