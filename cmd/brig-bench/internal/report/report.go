// Package report writes the results of a benchmark run: as text for a terminal, and as one HTML page with bars that
// needs no other file and no script.
package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/words"
)

// number formats a figure with three significant digits, and with commas from a thousand up. A figure that does not
// exist (NaN, infinite) is a dash.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a != 0 && a < 0.001 || a >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// percentile formats a percentile of a row; a row without a distribution has none.
func percentile(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// interval formats a ratio with the tool that it compares with and its 95 % interval.
func interval(q *result.Ratio) string {
	return number(q.Median) + " of " + words.Printable(q.To) + " (" + number(q.Low) + " to " + number(q.High) + ")"
}

// than returns the verdict of a ratio with what it compares with.
func than(q *result.Ratio) string {
	if strings.Contains(q.Verdict, " ") { // "no difference shown"
		return words.Printable(q.Verdict)
	}
	return words.Printable(q.Verdict) + " than " + words.Printable(q.To)
}

// Head prints the machine and the tools, with the reason of an absence and the differences from brig's jail.
func Head(w io.Writer, r *result.Report) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "What isolation costs on this machine, as %s\n%s\n", m.User, machine(m))
	if warning := m.Warning(); warning != "" {
		b.WriteString(warning + "\n")
	}
	b.WriteString("\n")
	for _, t := range r.Tools {
		if t.Absent != "" {
			fmt.Fprintf(&b, "  %-28s absent: %s\n", t.Name, words.Printable(t.Absent))
			continue
		}
		fmt.Fprintf(&b, "  %-28s %s\n", t.Name, words.Printable(t.Version))
		for _, d := range t.Differs {
			fmt.Fprintf(&b, "  %-28s   differs: %s\n", "", words.Printable(d))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// machine describes where the run took place, in one line.
func machine(m result.Machine) string {
	s := fmt.Sprintf("%d x %s, %.1f GiB, Linux %s, %s, control groups: %s",
		m.Processors, m.CPU, float64(m.Memory)/(1<<30), m.Kernel, m.OS, m.Cgroups)
	if m.Virtual != "" {
		s += ", virtual (" + m.Virtual + ")"
	}
	return words.Printable(s)
}

// Table prints one table with its question and its notes.
func Table(w io.Writer, t result.Table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n\n", t.Title, t.Question)
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(columns, "  %s\t%s\tp50\tp90\tp99\tn\t\n", t.Unit, t.X)
	for _, r := range t.Rows {
		x := ""
		if t.X != "" {
			x = fmt.Sprint(r.X)
		}
		if r.Error != "" {
			fmt.Fprintf(columns, "  %s\t%s\t\t\t\t\t%s\n", r.Tool, x, words.Printable(r.Error))
			continue
		}
		compared := ""
		if r.Ratio != nil {
			compared = interval(r.Ratio) + ": " + than(r.Ratio)
		}
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\t%d\t%s\n",
			r.Tool, x, number(r.P50), percentile(r.P90), percentile(r.P99), r.N, compared)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "  %s\n", words.Printable(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
