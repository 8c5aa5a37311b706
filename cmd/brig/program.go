package main

import (
	_ "embed"
	"os"
	"slices"
	"strings"
	"sync"

	"brig/cmd/brig/internal/bwrap"
	"brig/cmd/brig/internal/changescmd"
	"brig/cmd/brig/internal/console"
	"brig/cmd/brig/internal/convertcmd"
	"brig/cmd/brig/internal/daemon"
	"brig/cmd/brig/internal/dialect"
	"brig/cmd/brig/internal/doctorcmd"
	"brig/cmd/brig/internal/explaincmd"
	"brig/cmd/brig/internal/gccmd"
	"brig/cmd/brig/internal/isolate"
	"brig/cmd/brig/internal/learncmd"
	"brig/cmd/brig/internal/runcmd"
	"brig/cmd/brig/internal/verifycmd"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail/spec"
)

// program returns the table of commands, in the order of help.
func program() *cli.Program {
	changed := changescmd.Commands(open)
	learn := payload[learncmd.Learn]("learn", "run a command until it works, and print the flags that it needs")
	learn.About = learncmd.About
	verify := payload[verifycmd.Verify]("verify",
		"perform attacks in the jail of these flags, and show what it holds (brigd verify)")
	verify.Args, verify.After = "[FLAG...]", verifycmd.Help
	return &cli.Program{
		Name: "brig", Version: cli.Version, Summary: "run an untrusted command in a jail and say truthfully what happened",
		Commands: []cli.Command{
			payload[runcmd.Run]("run", "run a command in a jail and exit as it did"),
			payload[explaincmd.Explain]("explain", "print what run would do, system call by system call, and do nothing"),
			learn,
			payload[printed]("spec", "print the JSON that the flags mean, for --spec or for the Go library"),
			convertcmd.Command(open),
			verify,
			doctorcmd.Command(open),
			gccmd.Command(open),
			changed[0], changed[1], changed[2], changed[3],
			{Name: "isolate", Args: "[OPTION...] --init|--run|--cleanup [-- PROGRAM [ARG...]]", Run: isolate.Main, Foreign: true,
				What: "take isolate's command line, as when called by that name; /usr/share/doc/brig/docs/isolate.md"},
			{Name: "bwrap", Args: "[OPTION...] [--] COMMAND [ARG...]", Run: bwrap.Main, Foreign: true,
				What: "take bubblewrap's command line, as when called by that name; /usr/share/doc/brig/docs/bwrap.md"},
			daemon.Command("image", "pull|import|list|inspect|rm|prune|export|commit [ARG...]",
				"bring, show and remove images", open),
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
	return &console.Console{Stdio: std, Words: inFlags, Help: help, Exit: os.Exit}
}

// inFlags is the dialect of brig's command line.
func inFlags(r words.Ref) (string, bool) { return dialects().Word(r) }

// dialects returns the dialect of brig run and of the commands about change sets. It is made once: a report refers to
// many fields.
var dialects = sync.OnceValue(func() *dialect.Dialect {
	return dialect.New(changescmd.Flags(), "run", "apply", "diff", "discard")
})

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
	about := strings.TrimSpace(strings.ReplaceAll(learncmd.About, "\n", " "))
	text := strings.NewReplacer("$HELD", strings.Join(heldByGroup(), ", "), "$LEARN", about).Replace(manualText)
	for title, paragraphs := range sections(text) {
		m.Section(title, paragraphs...)
		switch title {
		case "LEARNING":
			flags(new(learncmd.Learn).Flags())
		case "VERIFICATION":
			flags(new(verifycmd.Verify).Flags())
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
func heldByGroup() (names []string) {
	others := []string{"cpu_time", "protect", "apparmor", "selinux"}
	for _, m := range spec.Mechanisms() {
		if m.OnDemand && !slices.Contains(others, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}
