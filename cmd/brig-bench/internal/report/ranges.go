package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/words"
)

// span writes the least and the largest of some figures.
func span(figures []float64) string {
	low, high := number(slices.Min(figures)), number(slices.Max(figures))
	if low == high {
		return low
	}
	return low + "–" + high
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

// Markdown writes the tables of several runs: ranges of medians. Tables without an X that are about the same tools are
// one, with a line for each; ratios of these are in Summary.
func Markdown(w io.Writer, r *result.Report) error {
	var b strings.Builder
	var when []string
	for _, run := range r.Runs {
		when = append(when, run.UTC().Format("2006-01-02 15:04"))
	}
	fmt.Fprintf(&b, "%s, as %s.\nRuns began at %s UTC;\nthe load average before them was at most %s.\n",
		machine(r.Machine), r.Machine.User, strings.Join(when, ", "), number(r.Machine.LoadBefore))
	left := slices.DeleteFunc(slices.Clone(r.Tables), func(t result.Table) bool { return len(t.Rows) == 0 })
	for len(left) > 0 {
		first := left[0]
		if first.X != "" {
			fmt.Fprintf(&b, "\n### %s (%s)\n\n%s\n\n", first.Title, first.Unit, first.Question)
			byX(&b, first)
			left = left[1:]
			continue
		}
		like := func(t result.Table) bool { return t.X == "" && t.Unit == first.Unit && sameTools(t, first) }
		byTool(&b, slices.DeleteFunc(slices.Clone(left), func(t result.Table) bool { return !like(t) }))
		left = slices.DeleteFunc(left, like)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sameTools reports whether all the tools of one table are in the other.
func sameTools(a, b result.Table) bool {
	lacks := func(t result.Table) func(result.Row) bool {
		return func(r result.Row) bool {
			return !slices.ContainsFunc(t.Rows, func(o result.Row) bool { return o.Tool == r.Tool })
		}
	}
	return !slices.ContainsFunc(a.Rows, lacks(b)) || !slices.ContainsFunc(b.Rows, lacks(a))
}

// byTool writes tables without an X as one, with a column for each tool.
func byTool(b *strings.Builder, tables []result.Table) {
	cells := []string{""}
	for _, t := range tables {
		for _, row := range t.Rows {
			if !slices.Contains(cells[1:], row.Tool) {
				cells = append(cells, row.Tool)
			}
		}
	}
	tools := slices.Clone(cells[1:])
	fmt.Fprintf(b, "\n### Medians (%s)\n\n", tables[0].Unit)
	head(b, cells...)
	for _, t := range tables {
		cells := []string{t.Title}
		for _, tool := range tools {
			cells = append(cells, figure(find(t, tool, 0)))
		}
		line(b, cells...)
	}
}

// figure writes the range of a row's medians, or why it has none.
func figure(row result.Row) string {
	if row.Medians == nil {
		return row.Error
	}
	return span(row.Medians)
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
			cell := figure(row)
			if ratio := against(row, find(t, "bubblewrap", x)); ratio != "" {
				cell += " (" + ratio + ")"
			}
			cells = append(cells, cell)
		}
		line(b, cells...)
	}
}
