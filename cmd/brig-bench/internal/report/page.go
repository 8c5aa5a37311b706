package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"brig/cmd/brig-bench/internal/result"
	"brig/internal/words"
)

//go:embed page.html
var pageText string

// Page writes the page. Equal reports make equal pages.
func Page(w io.Writer, r *result.Report) error { return execute(w, "page", r) }

// execute writes a part of the template, or nothing if it fails.
func execute(w io.Writer, name string, data any) error {
	page, err := template.New("").Funcs(template.FuncMap{"number": number, "percentile": percentile,
		"clean": words.Printable, "interval": interval, "machine": machine, "bars": bars, "class": class, "when": when,
		"summary": summary, "than": than,
		"add": add}).Parse(pageText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func add(a, b int) int { return a + b }

// class returns the style of a tool's row.
func class(tool string) string {
	if strings.HasPrefix(tool, "brig") {
		return "brig"
	}
	return "other"
}

// when returns the date of a run and how long it took.
func when(r *result.Report) string {
	return fmt.Sprintf("%s, for %v", r.Started.UTC().Format("2 January 2006, 15:04 UTC"),
		r.Finished.Sub(r.Started).Round(time.Second))
}

// bar is one line of a chart, in pixels.
type bar struct {
	Tool, Class, Figure string
	Middle, Width       int
}

// chart is the medians of a table.
type chart struct {
	Title, Unit  string
	Log          bool // whether a bar's length is the logarithm of its figure
	Height, Axis int
	Bars         []bar
}

const (
	chartAxis  = 210 // pixels, to the left of the bars
	chartWidth = 440 // of the longest bar
	chartLine  = 24
	chartHead  = 34
)

// bars lays a chart out. It is empty for a table whose figures depend on a number: that is read row by row. Figures
// that span more than 20 times get a logarithmic scale, on which the least has a twentieth of the width.
func bars(t result.Table) (c chart) {
	c = chart{Title: t.Title, Unit: t.Unit, Axis: chartAxis}
	if t.X != "" {
		return c
	}
	low, high := math.Inf(1), 0.0
	for _, r := range t.Rows {
		if r.Error == "" && r.P50 > 0 && !math.IsInf(r.P50, 0) {
			low, high = min(low, r.P50), max(high, r.P50)
		}
	}
	c.Log = high > 20*low
	for _, r := range t.Rows {
		if r.Error != "" || !(r.P50 > 0) || math.IsInf(r.P50, 0) {
			continue
		}
		share := r.P50 / high
		if c.Log {
			share = 0.05 + 0.95*math.Log(r.P50/low)/math.Log(high/low)
		}
		c.Bars = append(c.Bars, bar{Tool: r.Tool, Class: class(r.Tool), Figure: number(r.P50),
			Middle: chartHead + chartLine*len(c.Bars), Width: int(share * chartWidth)})
	}
	c.Height = chartHead + chartLine*len(c.Bars)
	return c
}
