// Package report makes a page for people of what a benchmark run has found, and the plots on it. The page is one HTML
// file that needs nothing else, no script either; the plots can be taken out and shown elsewhere.
package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/result"
)

// noDifference is the verdict that says so; see result.Ratio.
const noDifference = "no difference shown"

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// Write writes the page. Equal reports give equal bytes.
func Write(w io.Writer, r *result.Report) error {
	if r == nil {
		return errors.New("report: nothing to write: pass a *result.Report")
	}
	tmpl, err := template.New("page").Funcs(template.FuncMap{"clean": clean}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	p, err := newPage(r)
	if err != nil {
		return err
	}
	var page bytes.Buffer // so that half a page is never written
	if err := tmpl.Execute(&page, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(page.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	Style    template.CSS
	Lead     string
	Quick    bool
	Warning  string // that the machine was busy, or ""
	Machine  []fact
	Sections []section
	Present  []result.Tool
	Absent   []result.Tool
}

type fact struct{ Name, Value string }

// section is a table with its plot.
type section struct {
	result.Table
	Anchor  string
	Plot    template.HTML
	Lines   []line
	Ratios  bool // whether any row has one
	Rates   bool // whether any row has one
	Columns int  // that the reason spans in a row without figures
}

// line is a row as it is written.
type line struct {
	Tool, Class, X, N, P50, P90, P99 string
	Rate                             string
	Ratio, To, Interval, Verdict     string
	Shown                            bool // whether the verdict is a difference
	Error                            string
}

func newPage(r *result.Report) (*page, error) {
	p := &page{Style: template.CSS(pageStyle), Lead: summary(r), Quick: r.Quick, Machine: machine(r),
		Warning: r.Machine.Warning()}
	for _, t := range r.Tools {
		if t.Absent != "" {
			p.Absent = append(p.Absent, t)
		} else {
			p.Present = append(p.Present, t)
		}
	}
	taken := map[string]bool{}
	for i := range r.Tables {
		t := &r.Tables[i]
		plot, err := SVG(t)
		if err != nil {
			return nil, err
		}
		s := section{Table: *t, Anchor: anchorName(t.ID, taken), Plot: template.HTML(plot), Columns: 4}
		for _, row := range t.Rows {
			s.add(newLine(t, row))
			s.Ratios = s.Ratios || row.Ratio != nil
			s.Rates = s.Rates || row.Rate != 0
		}
		if s.Ratios {
			s.Columns += 2
		}
		if s.Rates {
			s.Columns++
		}
		p.Sections = append(p.Sections, s)
	}
	return p, nil
}

// add joins the tools that could not be measured for one and the same reason in one line.
func (s *section) add(l line) {
	if n := len(s.Lines) - 1; n >= 0 && l.Error != "" && s.Lines[n].Error == l.Error && s.Lines[n].X == l.X {
		if s.Lines[n].Tool != l.Tool {
			s.Lines[n].Tool += ", " + l.Tool
		}
		return
	}
	s.Lines = append(s.Lines, l)
}

// newLine writes a row's figures. A percentile that was not taken is empty.
func newLine(t *result.Table, r result.Row) line {
	l := line{Tool: r.Tool, Class: map[role]string{brig: "brig", bare: "bare", peer: "peer"}[roleOf(r.Tool)], N: round(float64(r.N))}
	l.Error = unmeasured(t, r)
	if t.X != "" && (r.X != 0 || l.Error == "") {
		l.X = number(r.X)
		if drawable(r.X) {
			l.X = round(r.X)
		}
	}
	if l.Error != "" {
		return l
	}
	l.P50 = number(r.P50)
	if drawable(r.P90) {
		l.P90 = number(r.P90)
	}
	if drawable(r.P99) {
		l.P99 = number(r.P99)
	}
	if r.Rate != 0 {
		l.Rate = number(r.Rate)
	}
	if q := r.Ratio; q != nil {
		l.Ratio, l.To, l.Verdict, l.Shown = number(q.Median), q.To, q.Verdict, q.Verdict != noDifference
		l.Interval = number(q.Low) + " to " + number(q.High)
	}
	return l
}

// anchorName is a table's ID as a fragment of the page's address, each one once.
func anchorName(id string, taken map[string]bool) string {
	base := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(id)), "-")
	name := "t-" + base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("t-%s-%d", base, n)
	}
	taken[name] = true
	return name
}

// machine says where and when. What is not known is left out.
func machine(r *result.Report) (facts []fact) {
	m := r.Machine
	add := func(name, value string) {
		if clean(value) != "" {
			facts = append(facts, fact{name, value})
		}
	}
	if !r.Started.IsZero() {
		when := r.Started.UTC().Format("2 January 2006, 15:04 UTC")
		if took := r.Finished.Sub(r.Started); took > 0 {
			when += ", for " + took.Round(time.Second).String()
		}
		add("Measured", when)
	}
	add("Processor", m.CPU)
	if m.Processors > 0 {
		add("Processors to use", round(float64(m.Processors)))
	}
	if m.Memory > 0 {
		add("Memory", round(math.Round(float64(m.Memory)/(1<<30)*10)/10)+" GiB")
	}
	add("Kernel", m.Kernel)
	add("System", m.OS)
	add("Virtual machine", m.Virtual)
	add("Control groups", m.Cgroups)
	add("Run as", m.User)
	add("Load", fmt.Sprintf("%.2f before, %.2f after", m.LoadBefore, m.LoadAfter))
	return facts
}
