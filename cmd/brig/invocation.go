package main

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// invocation is a parsed command line of run, explain or spec.
type invocation struct {
	command      string // run, explain, spec or verify
	args         []string
	commandWords int // how many of args are the command
	spec         nsjail.Spec
	report       string   // --report: a file to write the report to, or ""
	reportFD     int      // --report-fd: a descriptor to write it to, or -1
	json         bool     // --json: the output on stdout is JSON
	seccompTable bool     // explain: print the system-call filter instead of the plan
	specFile     string   // --spec, or ""
	netTable     bool     // explain: print the network's policy instead of the plan
	netLog       string   // --net-log: a file to append to, "-" or ""
	notes        []string // input with less effect here than in the tool it is for
	image        string   // --image, or ""
	imageStore   string   // --image-store, or "" for the caller's own
	pull         string   // --pull, or ""
	entrypoint   *string  // --entrypoint, or nil
	commit       string   // --commit, or ""
	fetched      bool     // brigd was executed for the image, and the forked launcher was closed before
	held         *os.File // keeps the image from being removed
	systemdScope bool     // --systemd-scope: make the group in a scope of systemd
	verifying    []string // flags of verify for brigd
	applyIfOK    bool     // --apply-if-ok: apply the changes of --cow
	escaped      bool     // the user has typed ~. to end the jail
	learn        learning // the flags of learn

	// origin maps a path in the Spec ("mounts[2]") to the caller's input for it ("--bind"), so that a problem of the
	// Spec is reported in the caller's words.
	origin map[string]string
}

// problems returns the problems of the Spec, one on a line; none if it is valid.
func (inv *invocation) problems() []string {
	var lines []string
	for _, p := range inv.spec.Check() {
		if p.Path == "args" && len(inv.spec.Args) == 0 && (inv.seccompTable || inv.netTable || inv.command == "spec" ||
			inv.command == "verify") {
			continue // the filter needs no command, and a Spec without one can be a base for others
		}
		lines = append(lines, inv.translate(p))
	}
	if inv.netLog != "" && inv.spec.Net != nsjail.NetEgress && len(inv.spec.Publish) == 0 {
		lines = append(lines, "--net-log: there is no network to record; add --allow, --net egress or --publish, or leave "+
			"it out")
	}
	if inv.applyIfOK && !inv.hasCOW() {
		lines = append(lines, "--apply-if-ok: there are no changes to apply; add --cow DIR, or leave it out")
	}
	if inv.json && inv.spec.TTY && inv.command == "run" {
		lines = append(lines, "--json: stdout belongs to the terminal of --tty; write the report with --report FILE")
	}
	if inv.json && inv.report == "-" && inv.command == "run" {
		lines = append(lines, "--report: -: stdout is where --json writes, and its object holds the report; leave one out")
	}
	return lines
}

// ofRun returns a given flag that only brig run supports, or "".
func (inv *invocation) ofRun() string {
	for flag, given := range map[string]bool{"--report": inv.report != "", "--report-fd": inv.reportFD >= 0,
		"--net-log": inv.netLog != "", "--commit": inv.commit != "", "--apply-if-ok": inv.applyIfOK} {
		if given {
			return flag
		}
	}
	return ""
}

// hasCOW reports whether there is a --cow.
func (inv *invocation) hasCOW() bool {
	return slices.ContainsFunc(inv.spec.Mounts, func(m nsjail.Mount) bool { return m.Type == nsjail.MountCOW })
}

// translate rewrites a Problem in the words of the command line.
func (inv *invocation) translate(p spec.Problem) string {
	if p.Path == "args" && len(inv.spec.Args) == 0 {
		return fmt.Sprintf("%s; write it after the flags, as in brig %s -- id", p.Reason, inv.command)
	}
	where := inv.where(p.Path)
	return where + ": " + inv.namePlaces(p.Reason) + "; " + p.Fix.In(inFlags)
}

// where returns the flag that set a path of the Spec, or the path itself.
func (inv *invocation) where(path string) string {
	for p := path; p != ""; p = parent(p) {
		if flag, ok := inv.origin[p]; ok {
			if p == "args" {
				return argName(path)
			}
			return flag
		}
	}
	if inv.specFile != "" {
		return "--spec " + words.Quote(inv.specFile) + ": " + path
	}
	return path
}

// parent cuts the last key or index off a path.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), strings.LastIndexByte(path, '['), 0)]
}

// argName returns the name of "args[2]" as the caller counts arguments.
func argName(path string) string {
	switch i := strings.TrimSuffix(strings.TrimPrefix(path, "args["), "]"); i {
	case "args":
		return "command"
	case "0":
		return "command name"
	default:
		return "argument " + i
	}
}

// namePlaces replaces "mounts[1]" and "limits.io[1]" in a reason by the flag that set it.
func (inv *invocation) namePlaces(reason string) string {
	if !strings.Contains(reason, "mounts[") && !strings.Contains(reason, "limits.io[") {
		return reason
	}
	var places []string
	for p := range inv.origin {
		if (strings.HasPrefix(p, "mounts[") || strings.HasPrefix(p, "limits.io[")) && strings.HasSuffix(p, "]") {
			places = append(places, p)
		}
	}
	sort.Strings(places)
	for _, p := range places {
		reason = strings.ReplaceAll(reason, p, inv.origin[p])
	}
	return reason
}
