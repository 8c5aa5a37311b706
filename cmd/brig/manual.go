package main

import (
	"strings"

	"brig/internal/cli"
	"brig/nsjail"
)

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
	m.Section("EXIT STATUS")
	for _, e := range exitCodes() {
		m.Item(e[0], "", e[1])
	}
	m.Section("SEE ALSO", "namespaces(7), user_namespaces(7), cgroups(7), seccomp(2), getrlimit(2), brigd(8)")
}

// heldByGroup returns the limits that only a control group can hold.
func heldByGroup() (names []string) {
	for _, m := range nsjail.Mechanisms() {
		if m.OnDemand && m.Name != "cpu_time" {
			names = append(names, m.Name)
		}
	}
	return names
}
