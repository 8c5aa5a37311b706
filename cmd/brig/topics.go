package main

import (
	"slices"
	"strings"
)

// topic is a subject of `brig help` to which several flags belong.
type topic struct {
	name   string
	lines  []string // command lines worth copying
	text   string   // paragraphs, each one line; a line "TERM: TEXT" that begins with two blanks is a row
	groups []string // the groups of flags that follow
	flags  []string // further flags that follow
}

func topics() []topic {
	return []topic{
		{name: "net",
			lines: []string{"brig run --allow pypi.org --allow files.pythonhosted.org --work . -- pip install -t . requests",
				"brig run --publish 8080:80 -- ./server", "brig explain --net --allow example.com"},
			text: "A jail has a network of its own, with the loopback interface and nothing else.\n" +
				"--allow names what it may reach besides. Any program works unchanged: what it connects to arrives at brig, " +
				"which compares the name in the TLS hello or the HTTP request, resolves it itself and relays. " +
				"Everything else is refused at once.\n" +
				"*.example.com means every name below example.com; example.com itself needs a rule of its own.\n" +
				"A name alone means ports 80 and 443; https://NAME and http://NAME mean one of them. A name leads to a private " +
				"address only if that is allowed as well, as in --allow 10.1.2.0/24:443; the metadata service and the host's own " +
				"loopback are never reached.\n" +
				"--net-log - shows each connection and each refused attempt.",
			groups: []string{"Network"}},
		{name: "limits",
			lines: []string{"brig run --timeout 30s --pids-limit 64 --work . -- make test",
				"brig run --memory 512m --cpus 0.5 -- ./untrusted", "brig doctor"},
			text: "A default jail may run for an hour, have 1024 processes and hold 256 MiB in /tmp, /work, /output and " +
				"/dev/shm together. It has no limit on memory, processors or disks: these need a control group.\n" +
				"Root has one everywhere. An ordinary user of a machine with systemd asks for one by --systemd-scope; " +
				"elsewhere root gives one away: brig doctor --delegate USER prints the commands.\n" +
				"A limit that cannot be held is an error, and nothing runs; --optional NAME goes on without it, " +
				"and the report says so.",
			groups: []string{"Limits", "Control group"}},
		{name: "seccomp",
			lines: []string{"brig explain --seccomp", "brig run --seccomp strict -- ./untrusted",
				"brig explain --seccomp ./profile.json"},
			text: "A payload may call what an allow-list of system calls permits. An unknown call returns ENOSYS, " +
				"a forbidden one EPERM.\n" +
				"  default: derived from docker's, and tighter\n" +
				"  strict: default with no socket but AF_UNIX, no ptrace, and nothing that reads other processes' memory\n" +
				"  compute: reads files, computes, and writes to the descriptors that it was given; threads, but no new process\n" +
				"  build: default for compilers and package builds: no ptrace and netlink\n" +
				"  debug: default and what gdb and strace (it does not run under default) miss in it\n" +
				"  unconfined: no filter, for a jail inside the jail\n" +
				"A word with a / is a profile in docker's JSON, which brig checks strictly.",
			flags: []string{"seccomp"}},
	}
}

// help is `brig help NAME`.
func (t *topic) help() string {
	var b strings.Builder
	b.WriteString("Examples:\n")
	for _, l := range t.lines {
		b.WriteString("  " + l + "\n")
	}
	for _, p := range strings.Split(t.text, "\n") {
		if line, isRow := strings.CutPrefix(p, "  "); isRow {
			term, what, _ := strings.Cut(line, ": ")
			row(&b, term, what, 14)
			continue
		}
		b.WriteString("\n")
		wrapped(&b, p)
	}
	group := "" // no heading yet
	for _, f := range flags("run") {
		if !slices.Contains(t.groups, f.group) && !slices.Contains(t.flags, f.name) {
			continue
		}
		if f.group != group {
			group = f.group
			b.WriteString("\n" + group + ":\n")
		}
		row(&b, flagColumn(f), f.help, 30)
	}
	return b.String()
}

// wrapped writes a paragraph in lines of helpWidth.
func wrapped(b *strings.Builder, text string) {
	width := 0
	for _, word := range strings.Fields(text) {
		if width > 0 && width+1+len(word) > helpWidth {
			b.WriteString("\n")
			width = 0
		}
		if width > 0 {
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	b.WriteString("\n")
}
