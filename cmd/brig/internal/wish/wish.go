// Package wish is what a command line of brig asks for: a Spec, where each part of it comes from, and what is to be
// done besides. It reads the files that flags name, and starts nothing. Parsing, help, the man page and the shell
// completions use one table of flags.
package wish

import (
	"slices"

	"brig/cmd/brig/internal/cacheflags"
	"brig/nsjail"
)

// Wish is a parsed command line of run, explain, learn, spec or verify.
type Wish struct {
	Command string // the one of these
	Line    Line
	Spec    nsjail.Spec
	From    Origin
	Image   Image
	Output  Output
	Tables  Tables
	Caches  cacheflags.Set
	Notes   []string // input with less effect here than in the tool it is for

	SystemdScope bool // --systemd-scope: make the group in a scope of systemd
	ApplyIfOK    bool // --apply-if-ok: apply the changes of --cow
}

// Line has the words after the command of brig.
type Line struct {
	Flags   []string // with a -- at the end, if there is one
	Command []string // the payload's
}

// Output is what else a run writes.
type Output struct {
	Report   string // --report: a file to write the report to, or ""
	ReportFD int    // --report-fd: a descriptor to write it to, or -1
	JSON     bool   // --json: the output on stdout is JSON
	NetLog   string // --net-log: a file to append to, "-" or ""
}

// Tables are what explain prints instead of the plan.
type Tables struct {
	Seccomp bool // the system-call filter
	Net     bool // the network's policy
}

// HasCOW reports whether there is a --cow.
func (w *Wish) HasCOW() bool {
	return slices.ContainsFunc(w.Spec.Mounts, func(m nsjail.Mount) bool { return m.Type == nsjail.MountCOW })
}

// OfRun returns a given flag that only brig run supports, or "".
func (w *Wish) OfRun() string {
	if flag := w.Caches.Given(); flag != "" {
		return flag
	}
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--report", w.Output.Report != ""}, {"--report-fd", w.Output.ReportFD >= 0}, {"--net-log", w.Output.NetLog != ""},
		{"--commit", w.Image.Commit != ""}, {"--apply-if-ok", w.ApplyIfOK}} {
		if f.given {
			return f.flag
		}
	}
	return ""
}
