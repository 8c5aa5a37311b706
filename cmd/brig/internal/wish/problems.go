package wish

import (
	"context"
	"errors"
	"fmt"

	"brig/internal/words"
	"brig/nsjail"
	"brig/nsjail/spec"
)

// Problems returns what is wrong with a wish, one problem on a line in the words of the command line; none if it is
// valid.
func (w *Wish) Problems(in words.Dialect) []string {
	var lines []string
	for _, p := range w.Spec.Check() {
		if p.Path == "args" && len(w.Spec.Args) == 0 && (w.Tables.Seccomp || w.Tables.Net || w.Command == "spec" ||
			w.Command == "verify") {
			continue // the filter needs no command, and a Spec without one can be a base for others
		}
		lines = append(lines, w.Translate(p, in))
	}
	o := &w.Output
	if flag := w.Caches.Given(); flag != "" && w.Command == "spec" {
		lines = append(lines, flag+": a cache is of this machine, and a Spec of none; leave it out, and give it to brig run "+
			"beside --spec")
	}
	if o.NetLog != "" && w.Spec.Net != nsjail.NetEgress && len(w.Spec.Publish) == 0 {
		lines = append(lines, "--net-log: there is no network to record; add --allow, --net egress or --publish, or leave "+
			"it out")
	}
	if w.ApplyIfOK && !w.HasCOW() {
		lines = append(lines, "--apply-if-ok: there are no changes to apply; add --cow DIR, or leave it out")
	}
	if o.JSON && w.Spec.TTY && w.Command == "run" {
		lines = append(lines, "--json: stdout belongs to the terminal of --tty; write the report with --report FILE")
	}
	if o.JSON && o.Report == "-" && w.Command == "run" {
		lines = append(lines, "--report: -: stdout is where --json writes, and its object holds the report; leave one out")
	}
	return lines
}

// Translate returns a Problem in the words of the command line.
func (w *Wish) Translate(p spec.Problem, in words.Dialect) string {
	if p.Path == "args" && len(w.Spec.Args) == 0 {
		return fmt.Sprintf("%s; write it after the flags, as in brig %s -- id", p.Reason, w.Command)
	}
	return w.From.Where(p.Path) + ": " + w.From.namePlaces(p.Reason) + "; " + p.Fix.In(in)
}

// Describe returns the error of a start in the words of the command line.
func (w *Wish) Describe(err error, in words.Dialect) string {
	var e *nsjail.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) {
			return "a signal came before the command had begun; nothing has run"
		}
		return words.Message(err).In(in)
	}
	return e.Named(w.From.Where(e.Op)).In(in)
}
