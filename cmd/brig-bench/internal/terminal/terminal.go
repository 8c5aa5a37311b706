// Package terminal prints results for a reader at a terminal: plain tables, colours only where there is somebody to see
// them, and one line of progress that overwrites itself.
package terminal

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// IsTTY says whether w is a terminal.
func IsTTY(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// Colours says whether w gets colours: no-color.org.
func Colours(w io.Writer) bool {
	return IsTTY(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Printer prints a report, part by part.
type Printer struct {
	w       io.Writer
	colours bool
}

// New prints to w.
func New(w io.Writer, colours bool) *Printer { return &Printer{w, colours} }

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

func (p *Printer) paint(colour, text string) string {
	if !p.colours || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Head prints the machine and the tools, with their absence and their differences.
func (p *Printer) Head(r *result.Report) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s\n", p.paint(bold, "What isolation costs on this machine, as "+map[bool]string{true: "root", false: "an ordinary user"}[m.User == "root"]))
	where := fmt.Sprintf("%d x %s, %.1f GiB, Linux %s, %s, cgroups: %s", m.Processors, m.CPU, float64(m.Memory)/(1<<30), m.Kernel, m.OS, m.Cgroups)
	if m.Virtual != "" {
		where += ", virtual (" + m.Virtual + ")"
	}
	fmt.Fprintf(&b, "%s\n", where)
	if warning := m.Warning(); warning != "" {
		b.WriteString(p.paint(red, warning) + "\n")
	}
	b.WriteString("\n")
	for _, t := range r.Tools {
		if t.Absent != "" {
			fmt.Fprintf(&b, "  %-24s %s\n", t.Name, p.paint(dim, "absent: "+t.Absent))
			continue
		}
		fmt.Fprintf(&b, "  %-24s %s\n", t.Name, t.Version)
		for _, d := range t.Differs {
			fmt.Fprintf(&b, "  %-24s   %s\n", "", p.paint(dim, "differs: "+d))
		}
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

// Foot ends a report with the seconds that it took.
func (p *Printer) Foot(r *result.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%.0f s\n", r.Finished.Sub(r.Started).Seconds())
	_, err := io.WriteString(p.w, b.String())
	return err
}

// Table prints one table with its question and notes.
func (p *Printer) Table(t result.Table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n\n", p.paint(bold, t.Title), t.Question)
	head := []string{"", t.X, "p50", "p90", "p99", "a second", "n", ""}
	lines := [][]string{head}
	for _, r := range t.Rows {
		lines = append(lines, cells(t, r))
	}
	width := make([]int, len(head))
	for i := range head {
		if !slices.ContainsFunc(lines[1:], func(l []string) bool { return l[i] != "" }) {
			head[i] = "" // a column of nothing
		}
	}
	for _, l := range lines {
		for i, c := range l {
			if i < len(head)-1 {
				width[i] = max(width[i], utf8.RuneCountInString(c))
			}
		}
	}
	for i, l := range lines {
		text := "  " + pad(l[0], -width[0])
		for k := 1; k < len(head)-1; k++ {
			if width[k] > 0 {
				text += "  " + pad(l[k], width[k])
			}
		}
		switch {
		case i == 0:
			text = p.paint(dim, text+"  "+t.Unit)
		default:
			text += "  " + p.verdict(t.Rows[i-1], l[len(l)-1])
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "  %s\n", p.paint(dim, n))
	}
	_, err := io.WriteString(p.w, b.String())
	return err
}

// cells are a row's columns; the last is the comparison or the error.
func cells(t result.Table, r result.Row) []string {
	c := []string{r.Tool, "", "", "", "", "", "", ""}
	if t.X != "" && (r.Error == "" || r.X != 0) {
		c[1] = fmt.Sprintf("%g", r.X)
	}
	if r.Error != "" {
		c[7] = r.Error
		return c
	}
	c[2], c[6] = Figure(r.P50), fmt.Sprint(r.N)
	if r.Rate != 0 {
		c[5] = Figure(r.Rate)
	}
	if r.P90 != 0 || r.P99 != 0 { // a figure without a distribution has neither
		c[3], c[4] = Figure(r.P90), Figure(r.P99)
	}
	if r.Ratio != nil {
		x := r.Ratio
		c[7] = fmt.Sprintf("%s of %s (%s to %s): %s", Times(x.Median), x.To, Times(x.Low), Times(x.High), x.Verdict)
	}
	return c
}

// verdict colours the comparison by whether it is good to have.
func (p *Printer) verdict(r result.Row, text string) string {
	switch {
	case r.Error != "":
		return p.paint(red, text)
	case r.Ratio == nil:
		return text
	}
	switch r.Ratio.Verdict {
	case "faster", "less":
		return p.paint(green, text)
	case "slower", "more":
		return p.paint(red, text)
	}
	return p.paint(dim, text)
}

// Figure writes a number with three digits that count; 0 stands for nothing measured.
func Figure(v float64) string {
	switch {
	case v == 0 || math.IsNaN(v):
		return "-"
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Times writes a ratio.
func Times(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0fx", v)
	}
	return fmt.Sprintf("%.2fx", v)
}

// pad fills up to a width, on the left for a negative one's right.
func pad(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if width < 0 {
		return text + strings.Repeat(" ", max(0, -width-n))
	}
	return strings.Repeat(" ", max(0, width-n)) + text
}
