package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/words"
)

// references are the tools that Markdown compares the others with, where a table has them.
var references = []string{"no jail", "bubblewrap", "runc", "direct loopback", "slirp4netns", "the Runner itself"}

// span writes the least and the largest of some figures.
func span(figures []float64) string {
	low, high := number(slices.Min(figures)), number(slices.Max(figures))
	if low == high {
		return low
	}
	return low + " to " + high
}

// against returns the range of a row's ratio to another: both are of the same run. It is empty where either has no
// figure.
func against(row, to result.Row) string {
	var ratios []float64
	for i := range min(len(row.Medians), len(to.Medians)) {
		ratios = append(ratios, row.Medians[i]/to.Medians[i])
	}
	if len(ratios) == 0 {
		return ""
	}
	return span(ratios)
}

// find returns the row of a tool at an X; without one it has no figures.
func find(t result.Table, tool string, x float64) result.Row {
	i := slices.IndexFunc(t.Rows, func(r result.Row) bool { return r.Tool == tool && r.X == x })
	if i < 0 {
		return result.Row{}
	}
	return t.Rows[i]
}

// line writes a row of a Markdown table.
func line(b *strings.Builder, cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(words.Printable(cells[i]), "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// head writes the first two lines of a Markdown table.
func head(b *strings.Builder, cells ...string) {
	line(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

// Markdown writes the tables of several runs: ranges of medians and of their ratios.
func Markdown(w io.Writer, r *result.Report) error {
	var b strings.Builder
	var when []string
	for _, run := range r.Runs {
		when = append(when, run.UTC().Format("2006-01-02 15:04"))
	}
	fmt.Fprintf(&b, "%s, as %s.\nRuns began at %s UTC;\nthe load average before them was at most %s.\n",
		machine(r.Machine), r.Machine.User, strings.Join(when, ", "), number(r.Machine.LoadBefore))
	for _, t := range r.Tables {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s (%s)\n\n%s\n\n", t.Title, t.Unit, t.Question)
		if t.X != "" {
			byX(&b, t)
			continue
		}
		var to []result.Row
		cells := []string{"", "median"}
		for _, name := range references {
			if row := find(t, name, 0); row.Medians != nil {
				to, cells = append(to, row), append(cells, "× "+name)
			}
		}
		head(&b, cells...)
		for _, row := range t.Rows {
			cells := []string{row.Tool, row.Error}
			if row.Medians != nil {
				cells[1] = span(row.Medians)
			}
			for _, o := range to {
				cells = append(cells, against(row, o))
			}
			line(&b, cells...)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// byX writes a table with a column for each X. A ratio to bubblewrap at the same X is in parentheses.
func byX(b *strings.Builder, t result.Table) {
	var tools []string
	var xs []float64
	cells := []string{""}
	for _, row := range t.Rows {
		if !slices.Contains(tools, row.Tool) {
			tools = append(tools, row.Tool)
		}
		if !slices.Contains(xs, row.X) {
			xs, cells = append(xs, row.X), append(cells, fmt.Sprintf("%s: %v", t.X, row.X))
		}
	}
	if find(t, "bubblewrap", xs[0]).Medians != nil {
		cells[0] = "(× bubblewrap)"
	}
	head(b, cells...)
	for _, tool := range tools {
		cells := []string{tool}
		for _, x := range xs {
			row := find(t, tool, x)
			cell := row.Error
			if row.Medians != nil {
				cell = span(row.Medians)
			}
			if ratio := against(row, find(t, "bubblewrap", x)); ratio != "" {
				cell += " (" + ratio + ")"
			}
			cells = append(cells, cell)
		}
		line(b, cells...)
	}
}
