package report

import (
	"cmp"
	"math"

	"brig/cmd/brig-bench/internal/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// barChart has a horizontal bar for each row. It is a plot.Plotter.
type barChart struct {
	t      *result.Table
	values scale
	names  [][]string // of the rows, broken into lines
	left   vg.Length  // the width of the names
	row    vg.Length  // the height of a bar with its surroundings
	any    bool       // whether there is a bar at all
}

func newBarChart(t *result.Table) *barChart {
	b := &barChart{t: t, values: valueScale(t, 0.7), row: 28}
	_, _, b.any = span(t)
	for _, r := range t.Rows {
		name := cmp.Or(clean(r.Tool), "(no name)")
		if t.X != "" && (r.X != 0 || unmeasured(t, r) == "") {
			name += ", " + round(r.X) + " " + t.X
		}
		lines := fit(namePen(r.Tool), name, wide*0.32, 2)
		for _, l := range lines {
			b.left = max(b.left, width(namePen(r.Tool), l))
		}
		if len(lines) > 1 {
			b.row = 36
		}
		b.names = append(b.names, lines)
	}
	return b
}

func namePen(tool string) draw.TextStyle {
	s := pen(13, letter, roleOf(tool) == brig)
	s.XAlign = draw.XRight
	return s
}

func (b *barChart) caption() string {
	if !b.any {
		return "Nothing was measured."
	}
	s := clean(b.t.Unit)
	if b.values.log {
		s += ", logarithmic"
	}
	s += better(b.t) + ". Bar: the median"
	for _, r := range b.t.Rows {
		if drawable(r.P99) && unmeasured(b.t, r) == "" {
			return s + "; whisker: to the 99th percentile, its tick the 90th."
		}
	}
	return s + "."
}

func better(t *result.Table) string {
	if t.Higher {
		return "; higher is better"
	}
	return "; lower is better"
}

func (b *barChart) height() vg.Length {
	h := b.row * vg.Length(len(b.names))
	if b.any {
		h += 24
	}
	return h
}

func (b *barChart) draw(c draw.Canvas) {
	c = draw.Crop(c, b.left+12, 0, 0, 0)
	if !b.any {
		for i := range b.t.Rows {
			b.label(c, i, c.Max.Y-(vg.Length(i)+0.5)*b.row)
		}
		return
	}
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Scale, p.X.Min, p.X.Max = b.values, b.values.floor, b.values.high
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Tick.Label = b.values, 0, captionPen()
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.X.Width, p.X.Padding = 0, 5
	p.HideY()
	p.Y.Min, p.Y.Max, p.Y.Padding = 0, float64(len(b.names)), 0
	p.Add(b)
	p.Draw(draw.Crop(c, 0, -b.overhang(c.Size().X), 0, 0))
}

// overhang is how much must stay free on the right for the figures that stand behind the whiskers.
func (b *barChart) overhang(room vg.Length) vg.Length {
	fits := room - 8
	for _, r := range b.t.Rows {
		if unmeasured(b.t, r) != "" {
			continue
		}
		if at := b.values.Normalize(b.values.floor, b.values.high, end(r)); at > 0 {
			fits = min(fits, (room-width(figurePen(r.Tool), number(r.P50))-10)/vg.Length(at))
		}
	}
	return room - fits
}

// end is where a row's bar and whisker end.
func end(r result.Row) float64 {
	if drawable(r.P99) {
		return max(r.P50, r.P99)
	}
	return r.P50
}

func figurePen(tool string) draw.TextStyle { return pen(12, letter, roleOf(tool) == brig) }

// Plot is for the plotting library.
func (b *barChart) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range b.values.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(draw.LineStyle{Color: ruler, Width: 1}, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
	}
	for i, r := range b.t.Rows {
		at := y(float64(len(b.names)-i) - 0.5)
		b.label(c, i, at)
		if unmeasured(b.t, r) != "" {
			continue
		}
		from, to := x(max(0, p.X.Min)), x(r.P50)
		b.bar(c, r, from, to, at)
		if drawable(r.P99) {
			whisker(c, x, r, at)
		}
		middle(c, figurePen(r.Tool), vg.Point{X: x(end(r)) + 7, Y: at}, number(r.P50))
	}
}

// bar is solid for brig, hollow for a process without a jail, and pale for everybody else: print and eyes that see no
// colour tell them apart.
func (b *barChart) bar(c draw.Canvas, r result.Row, from, to, at vg.Length) {
	const half = 8
	corners := []vg.Point{{X: from, Y: at - half}, {X: to, Y: at - half}, {X: to, Y: at + half}, {X: from, Y: at + half}}
	switch roleOf(r.Tool) {
	case brig:
		c.FillPolygon(brigInk, corners)
	case bare:
		c.FillPolygon(paper, corners)
		c.StrokeLines(draw.LineStyle{Color: bareInk, Width: 1.5}, append(corners, corners[0]))
	default:
		c.FillPolygon(otherInk, corners)
	}
}

// whisker goes from the median to the 99th percentile, with a cap there and a small tick at the 90th.
func whisker(c draw.Canvas, x func(float64) vg.Length, r result.Row, at vg.Length) {
	line := draw.LineStyle{Color: letter, Width: 1.25}
	c.StrokeLine2(line, x(r.P50), at, x(r.P99), at)
	c.StrokeLine2(line, x(r.P99), at-5, x(r.P99), at+5)
	if drawable(r.P90) && !math.Signbit((r.P90-r.P50)*(r.P99-r.P90)) {
		c.StrokeLine2(line, x(r.P90), at-3, x(r.P90), at+3)
	}
}

// label writes a row's name, and why it has no bar.
func (b *barChart) label(c draw.Canvas, i int, at vg.Length) {
	r := b.t.Rows[i]
	lines, style := b.names[i], namePen(r.Tool)
	for n, l := range lines {
		middle(c, style, vg.Point{X: c.Min.X - 10, Y: at + 15*(vg.Length(len(lines)-1)/2-vg.Length(n))}, l)
	}
	if why := unmeasured(b.t, r); why != "" {
		style := captionPen()
		room := wide - margin - c.Min.X - 4
		lines := fit(style, "not measured: "+why, room, int(b.row/14))
		for n, l := range lines {
			middle(c, style, vg.Point{X: c.Min.X + 4, Y: at + 14*(vg.Length(len(lines)-1)/2-vg.Length(n))}, l)
		}
	}
}
