package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"brig/cmd/brig-bench/internal/result"
)

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
			fmt.Fprintf(&b, "  %-28s absent: %s\n", t.Name, clean(t.Absent))
			continue
		}
		fmt.Fprintf(&b, "  %-28s %s\n", t.Name, clean(t.Version))
		for _, d := range t.Differs {
			fmt.Fprintf(&b, "  %-28s   differs: %s\n", "", clean(d))
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
	return clean(s)
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
			fmt.Fprintf(columns, "  %s\t%s\t\t\t\t\t%s\n", r.Tool, x, clean(r.Error))
			continue
		}
		compared := ""
		if r.Ratio != nil {
			compared = interval(r.Ratio) + ": " + r.Ratio.Verdict
		}
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\t%d\t%s\n",
			r.Tool, x, number(r.P50), percentile(r.P90), percentile(r.P99), r.N, compared)
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "  %s\n", clean(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
