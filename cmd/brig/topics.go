package main

import (
	"slices"
	"strings"

	"brig/internal/cli"
)

// topics returns the help topics besides the commands.
func topics() []cli.Topic {
	return []cli.Topic{
		topic("net",
			[]string{"brig run --allow pypi.org --allow files.pythonhosted.org --work . -- pip install -t . requests",
				"brig run --publish 8080:80 -- ./server", "brig explain --net --allow example.com"},
			"A jail has a network of its own, with the loopback interface and nothing else.\n"+
				"--allow names what it may reach besides. Any program works unchanged: what it connects to arrives at brig, "+
				"which compares the name in the TLS hello or the HTTP request, resolves it itself and relays. "+
				"Everything else is refused at once.\n"+
				"*.example.com means every name below example.com; example.com itself needs a rule of its own.\n"+
				"A name alone means ports 80 and 443; https://NAME and http://NAME mean one of them. A name leads to a private "+
				"address only if that is allowed as well, as in --allow 10.1.2.0/24:443; the metadata service and the host's own "+
				"loopback are never reached.\n"+
				"--net-log - shows each connection and each refused attempt.",
			func(f *cli.Flag) bool { return f.Group == "Network" }),
		topic("limits",
			[]string{"brig run --timeout 30s --pids-limit 64 --work . -- make test",
				"brig run --memory 512m --cpus 0.5 -- ./untrusted", "brig doctor"},
			"A default jail may run for an hour, have 1024 processes and hold 256 MiB in /tmp, /work, /output and "+
				"/dev/shm together. It has no limit on memory, processors or disks: these need a control group.\n"+
				"Root has one everywhere. An ordinary user of a machine with systemd asks for one by --systemd-scope; "+
				"elsewhere root gives one away: brig doctor --delegate USER prints the commands.\n"+
				"A limit that cannot be held is an error, and nothing runs; --optional NAME goes on without it, "+
				"and the report says so.",
			func(f *cli.Flag) bool { return f.Group == "Limits" || f.Group == "Control group" }),
		topic("tier",
			[]string{"brig run --tier process --work . -- make",
				"brig run --tier process --ro-bind /srv/data /srv/data -- ./report", "brig explain --tier process -- true"},
			"--tier process makes a jail without namespaces, on machines that forbid them. brig never chooses it by itself. "+
				"It needs Linux 6.12.\n"+
				"The payload is a process of the host. Landlock decides which files it may open: /usr, the public part of "+
				"/etc, a directory of its own ($HOME and $TMPDIR, 256 MiB, removed at the end), and what you bind, each at its "+
				"own path. --work DIR is writable, and the payload starts there.\n"+
				"It has no socket but pairs of AF_UNIX streams, or with --net host, the host's IPv4 and IPv6. Signals and "+
				"tracing stay in the jail, and all of its processes end together.\n"+
				"What is missing, beside a default jail: the payload can probe names, sizes and times of files and which "+
				"processes there are; it sees the machine's name and, in /proc, its load; nothing in a writable directory is "+
				"protected; an ordinary user's payload cannot use chmod, chown or utime on a path. Programs that need "+
				"/proc/self, /tmp, /dev/shm, inotify or System V objects fail.",
			func(f *cli.Flag) bool { return f.Name == "tier" }),
		topic("seccomp",
			[]string{"brig explain --seccomp", "brig run --seccomp strict -- ./untrusted",
				"brig explain --seccomp ./profile.json"},
			"A payload may call what an allow-list of system calls permits. An unknown call returns ENOSYS, "+
				"a forbidden one EPERM.\n"+
				"  default: derived from docker's, and tighter\n"+
				"  strict: default with no socket but AF_UNIX, no ptrace, and nothing that reads other processes' memory\n"+
				"  compute: reads files, computes, and writes to the descriptors that it was given; threads, but no new process\n"+
				"  build: default for compilers and package builds: no ptrace and netlink\n"+
				"  debug: default and what gdb and strace (it does not run under default) miss in it\n"+
				"  unconfined: no filter, for a jail inside the jail\n"+
				"A word with a / is a profile in docker's JSON, which brig checks strictly.",
			func(f *cli.Flag) bool { return f.Name == "seccomp" }),
	}
}

// topic formats the help on a topic: example command lines, paragraphs of one line each, and the flags that belong to
// it. A line "TERM: TEXT" that begins with two blanks is a row.
func topic(name string, examples []string, text string, belongs func(*cli.Flag) bool) cli.Topic {
	return cli.Topic{Name: name, Help: func() string {
		var h cli.Help
		h.WriteString("Examples:\n  " + strings.Join(examples, "\n  ") + "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if row, isRow := strings.CutPrefix(line, "  "); isRow {
				term, what, _ := strings.Cut(row, ": ")
				h.Row(term, what, 14)
				continue
			}
			h.WriteString("\n")
			h.Paragraph(line)
		}
		h.Flags(slices.DeleteFunc(newBuilder("run", nil).flags(), func(f cli.Flag) bool { return !belongs(&f) }), true)
		return h.String()
	}}
}
