package main

import (
	"slices"
	"strings"

	"brig/cmd/brig/internal/bwrap"
	"brig/cmd/brig/internal/isolate"
	"brig/internal/cli"
	"brig/internal/words"
	"brig/nsjail"
)

// program returns the table of commands, in the order of help.
func program() *cli.Program {
	changed := changeCommands()
	return &cli.Program{
		Name: "brig", Version: cli.Version, Summary: "run an untrusted command in a jail and say truthfully what happened",
		Commands: []cli.Command{
			payload("run", "run a command in a jail and exit as it did", run),
			payload("explain", "print what run would do, system call by system call, and do nothing", explain),
			learnCommand(),
			payload("spec", "print the JSON that the flags mean, for --spec or for the Go library", printSpec),
			convertCommand(),
			verifyCommand(),
			{Name: "doctor", Args: "[--json|--delegate USER]", Run: doctorCmd, Flags: new(doctorOptions).flags,
				About: doctorAbout,
				What:  "say which mechanisms this machine has and what to do about the missing ones"},
			{Name: "gc", Args: "[--json] [--cgroup-parent PATH]", Run: gcCmd, Flags: new(gcOptions).flags, About: gcAbout,
				What: "remove the control groups that killed runs have left"},
			changed[0], changed[1], changed[2], changed[3],
			{Name: "isolate", Args: "[OPTION...] --init|--run|--cleanup [-- PROGRAM [ARG...]]", Run: isolate.Main,
				What: "take the command line of isolate, as when brig is called by that name; docs/isolate.md"},
			{Name: "bwrap", Args: "[OPTION...] [--] COMMAND [ARG...]", Run: bwrap.Main,
				What: "take the command line of bubblewrap, as when brig is called by that name; docs/bwrap.md"},
			daemon("image", "pull|import|list|inspect|rm|prune|export|commit [ARG...]", "bring, show and remove images"),
			daemon("policy", "list|show|schema|lint|diff|explain [ARG...]", "check and compare what agents may do"),
			daemon("token", "keygen|mint|attenuate|inspect|verify|revoke [ARG...]", "make and narrow capability tokens"),
			daemon("audit", "verify|show [ARG...]", "check and read an audit log"),
			daemon("serve", "[FLAG...]", "run jails for programs that ask by HTTP"),
			daemon("worker", "[FLAG...]", "run jails for a queue of brigds"),
			daemon("submit", "[FLAG...] -- COMMAND [ARG...]", "put a command into a queue"),
			daemon("map", "[FLAG...] --jobs FILE --out FILE", "run many jobs by a brigd"),
			daemon("queue", "[FLAG...] [result|cancel|requeue ID]", "show a queue"),
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
		{"brig run --cow . -- make fix; brig diff 7f3a; brig apply 7f3a", "look at what a command did before it counts"},
		{"brig run --rootfs ./alpine --tty -- /bin/sh", "a shell in another distribution"},
		{"brig run --work . --allow pypi.org --allow files.pythonhosted.org -- pip install -t . requests",
			"a network of two names, for any program; the rest is refused and recorded"},
		{"brig run --work . --json --max-output 64k -- ./untrusted", "a report for a program to read"},
		{"brig explain --work . -- make test", "what run would do, without doing it"},
		{"brig explain --seccomp", "the system-call filter"},
		{"brig verify --work .", "whether this machine holds what these flags claim, attack by attack"},
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
			if err := inv.findImage(std); err != nil {
				code := std.Fail(err.Error())
				if name == "run" {
					refuse(inv, err.Error(), std)
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
	if inv.image != "" {
		inv.spec.Rootfs.Path = "" // a directory of this machine; the image's digest says the same
	}
	if bad := inv.spec.NotUTF8(); len(bad) > 0 {
		return std.Fail(inv.translate(bad[0]))
	}
	return std.Emit(string(inv.spec.JSON()))
}

// description is the text of the section DESCRIPTION of brig(1).
const description = "brig runs a command in Linux namespaces of its own, on a read-only root made of the host's " +
	"/usr, without network, without capabilities, behind a system-call filter and with limits. It needs no daemon and " +
	"no root. What the machine cannot give, brig refuses to go without, unless --optional says so."

// options is the introduction of the section OPTIONS.
const options = "These are the flags of run, explain and spec. A flag is written --name VALUE or --name=VALUE; " +
	"those with two values take two words. The first word that is no flag, or what follows --, is the command."

// manualRest writes the sections of brig(1) that follow the flags.
func manualRest(m *cli.Page) {
	m.Section("CONTROL GROUPS", "Limits of memory, processors, block devices and huge pages, and the processor time of "+
		"all processes together, are held by a control group that brig makes for the jail below its own, or below "+
		"--cgroup-parent, and removes at the end. Where the machine or the caller's rights cannot hold a limit, brig does "+
		"not start, unless --optional names its mechanism ("+strings.Join(heldByGroup(),
		", ")+"); the report then says that "+
		"it was not enforced. Two have a fall-back: --cpu-time limits each process by itself, and --pids-limit counts in "+
		"the user namespace; --require cpu_time refuses the first. An ordinary user of a machine with systemd is given a "+
		"group to divide by --systemd-scope.",
		"What a brig that was itself killed leaves behind is removed by brig gc.")
	m.Section("VARIABLES", "The command gets PATH, HOME, LANG, TERM and the caller's TZ, and what --env, --env-file and "+
		"--pass-env add. A glob of --pass-env never matches a name that looks like a secret (*TOKEN*, *SECRET*, *KEY*, "+
		"*PASS*, *CREDENTIAL*, those of cloud providers and of agents), one that steers the dynamic loader (LD_*), or a URL "+
		"with a password in it; such a variable must be named in full.")
	m.Section("REPORT", "--report, --report-fd and --json give one JSON object that says how the command ended, what it "+
		"used and what was in force. An exit code can be forged by the command; the report cannot.")
	m.Section("LEARNING", "brig learn takes the flags of run and these. "+
		strings.TrimSpace(strings.ReplaceAll(learnAbout, "\n", " ")),
		"It does not see what a program lacks without a system call, such as a variable. A command that exits with 0 "+
			"although it has failed works, as far as brig learn knows: let it end with a test, as in "+
			"sh -c 'make && test -s out'.")
	for _, f := range newBuilder("learn", nil).learnFlags() {
		m.Item("--"+f.Name, f.Args, f.Help)
	}
	m.Section("CHANGE SETS", "What a run with --cow has written waits in a change set, whose id is printed at the end. "+
		"brig diff shows it, brig apply makes the changes in the directory itself, brig discard removes them, brig "+
		"changes lists all. Change sets are in /var/lib/brig/changes of root, for others in "+
		"$XDG_STATE_HOME/brig/changes or ~/.local/state/brig/changes, or in the directory that the variable "+
		"BRIG_CHANGES names. A run removes those that are older than 30 days or exceed 100 sets or 8 GiB, the oldest "+
		"first, unless BRIG_CHANGES_KEEP says otherwise, as in age=720h,count=100,size=8g.",
		"brig apply changes nothing, and exits with 1, if a file that is concerned is not what the run saw. It can be "+
			"interrupted at any time: the next one goes on.")
	m.Section("VERIFICATION", "brig verify takes the flags of run and these. It performs the attacks of brig's own test "+
		"suite on this machine, each in such a jail of its own, and prints by layer what was tried, held, got through, is "+
		"given up by a flag, and does not apply. What an attack looks for is made for it, and nothing of the caller's is "+
		"written to. The exit status is 0 if all that is claimed has held, and 1 if something got through or nothing could "+
		"be verified.")
	for _, f := range verifyFlags(nil) {
		m.Item("--"+f.Name, f.Args, f.Help)
	}
	m.Section("BUBBLEWRAP", "Called bwrap, or as brig bwrap, brig takes the command line of bubblewrap and shares what "+
		"that shares. These variables add what bubblewrap does not have; docs/bwrap.md has what differs.")
	for _, v := range bwrap.Variables() {
		m.Item(v.Name, v.Value, v.Help)
	}
	m.Section("EXIT STATUS")
	for _, e := range exitCodes() {
		m.Item(e[0], "", e[1])
	}
	m.Section("SEE ALSO", "namespaces(7), user_namespaces(7), cgroups(7), seccomp(2), getrlimit(2), brigd(8)")
}

// heldByGroup returns the limits that only a control group can hold.
func heldByGroup() []string {
	others := []string{"cpu_time", "protect", "apparmor", "selinux"}
	return mechanisms(func(m nsjail.Mechanism) bool { return m.OnDemand && !slices.Contains(others, m.Name) })
}
