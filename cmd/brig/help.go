package main

import (
	"strconv"
	"strings"

	"brig/nsjail"
)

// example is a command line worth copying.
type example struct{ line, what string }

func examples() []example {
	return []example{
		{"brig run -- id", "a command in the default jail: no network, no host files but /usr"},
		{"brig run --input ./job --output ./out -- python3 /input/analyse.py", "read the directory job, write to the directory out"},
		{"brig run --work . --timeout 30s --pids-limit 64 -- make test", "a build with limits"},
		{"brig run --work . -m 512m --cpus 1.5 --cpu-time 1m -- ./untrusted", "limits that a control group holds for all its processes together"},
		{"brig run --rootfs ./alpine --tty -- /bin/sh", "a shell in another distribution"},
		{"brig run --work . --allow pypi.org --allow files.pythonhosted.org -- pip install -t . requests", "a network of two names, for any program; the rest is refused and recorded"},
		{"brig run --work . --json --max-output 64k -- ./untrusted", "a report for a program to read"},
		{"brig explain --work . -- make test", "what run would do, without doing it"},
		{"brig explain --seccomp", "the system-call filter"},
		{"brig spec --work . -- make test >job.json; brig run --spec job.json", "the same jail as a file"},
	}
}

// exitCode is a row of the table of exit codes.
type exitCode struct{ code, what string }

func exitCodes() []exitCode {
	return []exitCode{
		{"0-255", "the command's own"},
		{"124", "the time limit ended it"},
		{"125", "brig could not make the jail; nothing has run"},
		{"126", "the command cannot be executed"},
		{"127", "the command is not in the jail's root"},
		{"128+N", "signal N ended it"},
	}
}

const summary = "run an untrusted command in a jail and say truthfully what happened"

// helpWidth is the widest line of help.
const helpWidth = 100

// mainHelp is `brig help`.
func mainHelp() string {
	var b strings.Builder
	b.WriteString("Examples:\n")
	for _, e := range examples() {
		b.WriteString("  # " + e.what + "\n  " + e.line + "\n")
	}
	b.WriteString("\nbrig: " + summary + ".\n\nUsage: brig COMMAND\n\nCommands:\n")
	for _, c := range commands() {
		row(&b, c.name, c.what, 14)
	}
	b.WriteString("\nbrig help COMMAND lists the flags; brig help net, limits or seccomp is about these. " +
		"brig man | man -l - is the manual page.\n")
	return b.String()
}

// commandHelp is `brig help NAME`.
func commandHelp(name string) string {
	var b strings.Builder
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		if !c.jails {
			return plainHelp(c)
		}
		b.WriteString("Examples:\n")
		for _, e := range examples() {
			if strings.HasPrefix(e.line, "brig "+name+" ") {
				b.WriteString("  # " + e.what + "\n  " + e.line + "\n")
			}
		}
		b.WriteString("\nUsage: brig " + c.name + " " + c.args + "\n\n" + upperFirst(c.what) + ".\n")
	}
	group := ""
	for _, f := range flags(name) {
		if f.group != group {
			group = f.group
			b.WriteString("\n" + group + ":\n")
		}
		row(&b, flagColumn(f), f.help, 30)
	}
	b.WriteString("\nSizes are as docker's (64k, 512m, 1g), times as Go's (500ms, 30s, 1h) or in seconds.\n" +
		"A relative SRC, or PATH of a device, starts at the caller's directory.\n\nExit codes:\n")
	for _, e := range exitCodes() {
		row(&b, e.code, e.what, 14)
	}
	return b.String()
}

// plainHelp is the help of a command that makes no jail.
func plainHelp(c command) string {
	var b strings.Builder
	usage := strings.TrimSpace("brig " + c.name + " " + c.args)
	b.WriteString("Usage: " + usage + "\n\n" + upperFirst(c.what) + ".\n" + more(c.name))
	if list := plainFlags(c.name); len(list) > 0 {
		b.WriteString("\nFlags:\n")
		for _, f := range list {
			row(&b, flagColumn(f), f.help, 30)
		}
	}
	return b.String()
}

// more returns the part of a command's help that follows its one line.
func more(name string) string {
	switch name {
	case "doctor":
		return "\nExit codes:\n  0    a default jail works here\n" +
			"  1    it does not; a finding with \"fix:\" says what to do\n"
	case "gc":
		return "\nThat is what a brig left which was itself killed (SIGKILL, a crash): whatever still runs there is\n" +
			"killed, and the group removed. Jails that run are left alone.\n"
	}
	return ""
}

// plainFlags returns the flags of a command that makes no jail.
func plainFlags(name string) []flag {
	asJSON := flag{name: "json", help: "answer in JSON"}
	switch name {
	case "doctor":
		return []flag{asJSON, {name: "delegate", args: []string{"USER"},
			help: "print the commands by which root gives USER, a name or a uid, control groups; pipe them into sudo sh"}}
	case "gc":
		return []flag{asJSON, {name: "cgroup-parent", args: []string{"PATH"},
			help: "look below this group, named as in /proc/self/cgroup, instead of the own one"}}
	case "version":
		return []flag{asJSON}
	}
	return nil
}

func flagColumn(f flag) string {
	if f.short != 0 {
		return "-" + string(f.short) + ", " + f.usage()
	}
	return "    " + f.usage()
}

// row writes a term and its explanation, in two columns where the term fits.
func row(b *strings.Builder, term, text string, column int) {
	line := "  " + term
	if len(line)+2 > column+2 {
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

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func helpCmd(args []string, std stdio) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return emit(std, mainHelp())
	}
	var names []string
	for _, c := range commands() {
		if c.name == args[0] {
			return emit(std, commandHelp(c.name))
		}
		names = append(names, c.name)
	}
	for _, t := range topics() {
		if t.name == args[0] {
			return emit(std, t.help())
		}
		names = append(names, t.name)
	}
	fix := "write one of " + strings.Join(names, ", ")
	if near := nsjail.Nearest(args[0], names); near != "" {
		fix = "did you mean " + near + "?"
	}
	return fail(std, "help: "+show(args[0])+" is neither a command of brig nor a topic; "+fix)
}

// version is the version of this source.
const version = "0.1.0"

func versionCmd(args []string, std stdio) int {
	asJSON, code := onlyJSON("version", args, std)
	if code >= 0 {
		return code
	}
	if asJSON {
		return emit(std, `{"version":`+strconv.Quote(version)+"}\n")
	}
	return emit(std, "brig "+version+"\n")
}
