package batch

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"slices"

	"brig/brigd/internal/verbs"
)

// exitRefused is the exit code where a job was refused, or cancelled by somebody else.
const exitRefused = verbs.Exit(1)

// colors are those of statuses; others are grey.
var colors = map[string]string{"ok": "#2a7", "failed": "#e90", "refused": "#c33", "timeout": "#a4c",
	"cancelled": "#777"}

// The size of a plot, in pixels.
const (
	plotWidth  = 800
	plotHeight = 240
)

// page returns a page with how the jobs ended and how long their callers waited: a point for each job, in the order of
// the results, and the distribution.
func page(lines []line) []byte {
	var b bytes.Buffer
	count := map[string]int{}
	took := make([]float64, 0, len(lines))
	again := 0
	for _, l := range lines {
		count[l.Result.Status]++
		took = append(took, l.Took)
		if q := l.Result.Queue; q != nil && q.Attempt > 1 {
			again++
		}
	}
	slices.Sort(took)
	b.WriteString("<!doctype html><meta charset=utf-8><title>brigd map</title>" +
		"<style>body{font:14px sans-serif;margin:2em}td{padding:0 1em 0 0;text-align:right}svg{background:#f6f6f6}</style>")
	fmt.Fprintf(&b, "<h1>%d jobs</h1><table>", len(lines))
	for _, status := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "<tr><td><svg width=10 height=10><rect width=10 height=10 fill=%q /></svg> %s<td>%d",
			color(status), html.EscapeString(status), count[status])
	}
	fmt.Fprintf(&b, "</table><p>%d were started more than once.", again)
	if len(took) == 0 {
		return b.Bytes()
	}
	most := max(took[len(took)-1], 1e-9)
	b.WriteString("<h2>How long each has taken, in seconds</h2><table><tr>")
	for _, p := range []int{50, 90, 99, 100} {
		fmt.Fprintf(&b, "<td>%d %%: %.3f", p, took[(len(took)-1)*p/100])
	}
	fmt.Fprintf(&b, "</table><svg width=%d height=%d>", plotWidth, plotHeight)
	points := thin(lines)
	for i, l := range points {
		x := float64(i) / float64(max(1, len(points)-1)) * (plotWidth - 4)
		fmt.Fprintf(&b, "<circle cx=%.1f cy=%.1f r=2 fill=%q />", x+2, (1-l.Took/most)*(plotHeight-4)+2,
			color(l.Result.Status))
	}
	b.WriteString("</svg><h2>How many took at most so long</h2>")
	fmt.Fprintf(&b, "<svg width=%d height=%d><polyline fill=none stroke=#2a7 stroke-width=2 points=\"", plotWidth,
		plotHeight)
	for i := range 201 {
		t := took[(len(took)-1)*i/200]
		fmt.Fprintf(&b, "%.1f,%.1f ", t/most*plotWidth, (1-float64(i)/200)*plotHeight)
	}
	fmt.Fprintf(&b, "\" /></svg><p>0 to %.3f s", most)
	return b.Bytes()
}

func color(status string) string {
	if c := colors[status]; c != "" {
		return c
	}
	return "#999"
}

// thin returns at most 5,000 of the lines, evenly.
func thin(lines []line) []line {
	const most = 5000
	if len(lines) <= most {
		return lines
	}
	list := make([]line, most)
	for i := range list {
		list[i] = lines[i*len(lines)/most]
	}
	return list
}
