package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/words"
)

// answer is what the summary tells of one table.
type answer struct{ Asked, Run, Runner, Bubblewrap, Verdict string }

const most = 5 // answers in a summary

// preferred are the tables of the summary, if they were measured.
var preferred = []string{"job", "job-python", "job-compile", "job-make", "job-usr"}

// summary returns a line for each of five tables in which brig run is compared with bubblewrap: the preferred ones, or
// what else was measured.
func summary(r *result.Report) (list []answer) {
	compared := map[string]answer{}
	order := slices.Clone(preferred)
	for _, t := range r.Tables {
		if l, ok := summed(t); ok {
			compared[t.ID], order = l, append(order, t.ID)
		}
	}
	for _, id := range order {
		if l, ok := compared[id]; ok && len(list) < most {
			list = append(list, l)
			delete(compared, id)
		}
	}
	return list
}

// summed returns a table's line, if both of the tools that it compares have a figure.
func summed(t result.Table) (l answer, ok bool) {
	rows := map[string]result.Row{}
	for _, r := range t.Rows {
		if r.Error == "" {
			rows[r.Tool] = r
		}
	}
	run, peer := rows["brig run"], rows["bubblewrap"]
	if t.X != "" || run.N == 0 || peer.N == 0 || peer.Ratio == nil || peer.Ratio.To != "brig run" {
		return l, false
	}
	unit := " " + words.Printable(t.Unit)
	l = answer{Asked: words.Printable(t.Title), Run: number(run.P50) + unit, Bubblewrap: number(peer.P50) + unit}
	if runner := rows["brig Runner"]; runner.N > 0 {
		l.Runner = number(runner.P50) + unit
	}
	share := fmt.Sprintf(" (%s of it)", number(run.P50/peer.P50))
	switch peer.Ratio.Verdict {
	case "slower":
		l.Verdict = "brig run is faster than bubblewrap" + share
	case "faster":
		l.Verdict = "brig run is slower than bubblewrap" + share
	default:
		l.Verdict = "between brig run and bubblewrap, " + words.Printable(peer.Ratio.Verdict)
	}
	return l, true
}

// Short prints the summary, if there is something to compare.
func Short(w io.Writer, r *result.Report) error {
	list := summary(r)
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("\nIn short\n\n")
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "  asked\tbrig run\tRunner\tbubblewrap\t\n")
	for _, l := range list {
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\n", l.Asked, l.Run, l.Runner, l.Bubblewrap, l.Verdict)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
