package main

import (
	"strings"

	"brig/nsjail"
)

// flag is a row of the flag table. Parsing, --help, brig(1) and the completions read nothing else.
type flag struct {
	name  string
	short byte     // docker's short form, or 0
	args  []string // what its values are called; none for a switch
	many  bool     // it may be repeated
	group string   // the heading it stands under; empty for "as the one before"
	help  string   // one sentence, without a full stop
	words []string // the values that completion offers
	files bool     // completion offers files for the values
	path  string   // the place in the Spec that it sets, when that is one place

	set     func(b *builder, values []string) error
	setBare func(b *builder) error // the value may be left out, and then this applies
	greedy  bool                   // without =, the next word is the value if it can be one
}

// key is the same for two flags that contradict each other.
func (f *flag) key() string {
	if f.path != "" {
		return f.path
	}
	return f.name
}

// usage is how the flag is written.
func (f *flag) usage() string {
	switch {
	case len(f.args) == 0:
		return "--" + f.name
	case f.setBare != nil && !f.greedy:
		return "--" + f.name + "[=" + f.args[0] + "]"
	}
	return "--" + f.name + " " + strings.Join(f.args, " ")
}

// flags is the flag table of run, explain and spec. The three take the same flags, so that one word turns what is
// run into what is explained.
func flags(command string) []flag {
	table := make([]flag, 0, 64)
	for _, group := range [][]flag{fileFlags(), envFlags(), networkFlags(command), isolationFlags(command), limitFlags(), groupFlags(), reportFlags()} {
		for i := range group {
			group[i].group = group[0].group
		}
		table = append(table, group...)
	}
	return table
}

func fileFlags() []flag {
	return []flag{
		{name: "input", args: []string{"SRC[:DST]"}, many: true, files: true, set: dirFlag("/input", false), group: "Files",
			help: "show SRC of the host at /input, or DST, read-only"},
		{name: "work", args: []string{"SRC[:DST]"}, many: true, files: true, set: dirFlag("/work", true),
			help: "show SRC at /work, or DST, writable; the payload starts in /work"},
		{name: "output", args: []string{"SRC[:DST]"}, many: true, files: true, set: dirFlag("/output", true),
			help: "show SRC at /output, or DST, writable"},
		{name: "bind", args: []string{"SRC", "DST"}, many: true, files: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountBind, Writable: true}),
			help: "show SRC of the host at DST, writable"},
		{name: "ro-bind", args: []string{"SRC", "DST"}, many: true, files: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountBind}),
			help: "show SRC of the host at DST, read-only with everything mounted below it; a small file as a copy"},
		{name: "ro-bind-live", args: []string{"SRC", "DST"}, many: true, files: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountBind, Live: true}),
			help: "the same, and the host's later changes show; locks and watches cross it"},
		{name: "tmpfs", args: []string{"DST[:size=64m,inodes=1000,mode=1777]"}, many: true, set: setTmpfs,
			help: "an empty directory in memory; what is written there is dropped at the end"},
		{name: "symlink", args: []string{"TEXT", "LINKPATH"}, many: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountSymlink}),
			help: "a symbolic link at LINKPATH that says TEXT"},
		{name: "dir", args: []string{"DST"}, many: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountDir}),
			help: "an empty directory"},
		{name: "file", args: []string{"SRC", "DST"}, many: true, files: true, set: mountFlag(nsjail.Mount{Type: nsjail.MountFile}),
			help: "a private read-only copy of the file SRC at DST"},
		{name: "etc", args: []string{"NAME"}, many: true, set: setEtc,
			help: "show /etc/NAME of the host too, as far as everybody may read it; " +
				"brig doctor lists what programs look for there"},
		{name: "rootfs", args: []string{"DIR"}, files: true, path: "rootfs.path", set: setRootfs,
			help: "use the directory tree DIR as the root instead of the host's /usr"},
		{name: "rootfs-writable", args: []string{"SIZE"}, path: "rootfs.writable", set: setRootfsWritable, setBare: setRootfsBare,
			help: "let the payload write to its root; up to SIZE is kept in memory and dropped at the end"},
	}
}

func envFlags() []flag {
	return []flag{
		{name: "env", short: 'e', args: []string{"NAME[=VALUE]"}, many: true, set: setEnv, group: "Environment and identity",
			help: "set a variable; the name alone passes the caller's value"},
		{name: "env-file", args: []string{"FILE"}, many: true, files: true, set: setEnvFile,
			help: "set the variables of FILE, one NAME=VALUE a line, as docker reads it"},
		{name: "pass-env", args: []string{"NAME|GLOB"}, many: true, set: setPassEnv,
			help: "pass the caller's variables; a glob never matches tokens, keys, passwords and the like"},
		{name: "workdir", short: 'w', args: []string{"DIR"}, path: "workdir", set: setWorkdir,
			help: "start in DIR of the jail instead of /work"},
		{name: "user", short: 'u', args: []string{"UID[:GID]"}, path: "user", set: setUser,
			help: "who the payload is inside the jail, instead of 1000:1000; outside it stays nobody"},
		{name: "hostname", args: []string{"NAME"}, path: "hostname", set: setHostname,
			help: "the host name inside the jail, instead of brig"},
	}
}

func isolationFlags(command string) []flag {
	seccomp := flag{name: "seccomp", group: "Isolation", args: []string{"FILE|NAME"}, files: true, path: "seccomp", set: setSeccomp,
		words: nsjail.SeccompNames(),
		help: "the system-call filter: " + strings.Join(nsjail.SeccompNames(), ", ") +
			", or a profile in docker's JSON (a path has a /); brig help seccomp"}
	if command == "explain" {
		seccomp.setBare, seccomp.greedy = setSeccompTable, true
		seccomp.help += "; alone or without a command, print the filter"
	}
	names := mechanisms()
	return []flag{
		seccomp,
		{name: "tty", short: 't', path: "tty", set: setTTY,
			help: "give the payload a terminal of its own, for shells and editors; " +
				"~. at the start of a line ends the jail, ~? lists more"},
		{name: "interactive", short: 'i', many: true, set: asAlways,
			help: "no effect: stdin always reaches the payload, so docker's -it is --tty"},
		{name: "rm", many: true, set: asAlways,
			help: "no effect: a jail never leaves anything behind"},
		{name: "init", path: "no_init", set: setInit,
			help: "run an init as pid 1 that reaps and forwards signals (the default)"},
		{name: "no-init", path: "no_init", set: setNoInit,
			help: "make the payload pid 1"},
		{name: "require", args: []string{"NAME,..."}, many: true, words: names, set: setRequire,
			help: "fail unless these mechanisms are in force, with no fall-back"},
		{name: "optional", args: []string{"NAME,..."}, many: true, words: names, set: setOptional,
			help: "go on without these mechanisms where they are missing, and say so in the report"},
	}
}

func reportFlags() []flag {
	return []flag{
		{name: "spec", args: []string{"FILE|-"}, files: true, set: setSpec, group: "Input and report",
			help: "begin with the JSON of brig spec; the other flags change it"},
		{name: "report", args: []string{"FILE"}, files: true, set: setReport,
			help: "write the report, one JSON object, to FILE, or to stdout: -"},
		{name: "report-fd", args: []string{"N"}, set: setReportFD,
			help: "write the report to the open descriptor N"},
		{name: "json", set: setJSON,
			help: "print the report (or the plan) on stdout as JSON, with the captured stdout and stderr inside"},
	}
}

func mechanisms() []string {
	var names []string
	for _, m := range nsjail.Mechanisms() {
		names = append(names, m.Name)
	}
	return names
}
