package report

import (
	"cmp"
	"fmt"
	"slices"

	"brig/cmd/brig-bench/internal/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	nameGap    = 16 // between the names at the lines' ends
	mostErrors = 4  // lines of text on what was not measured
)

// lineChart has a line for each tool, over X. It is a plot.Plotter.
type lineChart struct {
	t          *result.Table
	values     scale
	x          scale
	xs         []float64
	lines      []series
	right      vg.Length // the width of the names
	unmeasured []string
}

// series is a tool's line.
type series struct {
	name   string
	tool   string
	rows   []result.Row // by X; those without a figure too, for they break the line
	colour ink
	width  vg.Length
	dashes []vg.Length
	glyph  draw.GlyphDrawer
}

func newLineChart(t *result.Table) *lineChart {
	l := &lineChart{t: t, values: valueScale(t, 1), xs: xs(t)}
	l.x = xScale(l.xs)
	for _, r := range t.Rows {
		at := slices.IndexFunc(l.lines, func(s series) bool { return s.tool == r.Tool })
		if at < 0 {
			at = len(l.lines)
			l.lines = append(l.lines, series{tool: r.Tool})
		}
		l.lines[at].rows = append(l.lines[at].rows, r)
	}
	l.unmeasured = notMeasured(t)
	l.lines = slices.DeleteFunc(l.lines, func(s series) bool {
		return !slices.ContainsFunc(s.rows, func(r result.Row) bool { return unmeasured(t, r) == "" })
	})
	dress := dresser()
	for i := range l.lines {
		s := &l.lines[i]
		slices.SortStableFunc(s.rows, func(a, b result.Row) int { return cmp.Compare(a.X, b.X) })
		dress(s)
		s.name = fit(s.pen(), cmp.Or(clean(s.tool), "(no name)"), wide*0.33, 1)[0]
		l.right = max(l.right, width(s.pen(), s.name))
	}
	return l
}

// dresser gives each line a colour, a glyph and a dash that no other has; brig's are the strong ones.
func dresser() func(*series) {
	glyphs := []draw.GlyphDrawer{polygon{4, 0.5}, polygon{3, 0}, polygon{4, 0}, polygon{3, 0.5}, polygon{5, 0}, polygon{6, 0}}
	dashes := [][]vg.Length{nil, {7, 3}, {2, 2}, {7, 2, 2, 2}, {12, 3}}
	brigs, bares, peers := 0, 0, 0
	return func(s *series) {
		switch roleOf(s.tool) {
		case brig:
			s.colour, s.width, s.dashes, s.glyph = brigInks[brigs%len(brigInks)], 2.5, dashes[brigs%len(dashes)], draw.CircleGlyph{}
			brigs++
		case bare:
			s.colour, s.width, s.dashes, s.glyph = bareInk, 1.5, []vg.Length{3, 3}, ring{}
			bares++
		default:
			s.colour, s.width, s.glyph = hues[peers%len(hues)], 1.75, glyphs[peers%len(glyphs)]
			s.dashes = dashes[peers/len(hues)%len(dashes)]
			peers++
		}
	}
}

func (s *series) pen() draw.TextStyle { return pen(12.5, s.colour, roleOf(s.tool) == brig) }

// notMeasured has a line for each row without a figure.
func notMeasured(t *result.Table) (out []string) {
	for _, r := range t.Rows {
		if why := unmeasured(t, r); why != "" {
			at := ""
			if r.X != 0 {
				at = " at " + round(r.X)
			}
			out = append(out, fmt.Sprintf("Not measured: %s%s: %s", clean(r.Tool), at, why))
		}
	}
	if more := len(out) - mostErrors + 1; more > 1 {
		out = append(out[:mostErrors-1], fmt.Sprintf("Not measured: %d more rows", more))
	}
	for i, s := range out {
		out[i] = fit(captionPen(), s, wide-2*margin, 1)[0]
	}
	return out
}

func (l *lineChart) caption() string {
	s := clean(l.t.Unit)
	if l.values.log {
		s += ", logarithmic"
	}
	s += better(l.t) + ". Line: the median"
	if l.whiskers() {
		s += "; whisker: to the 99th percentile"
	}
	return s + "."
}

// across names the axis for X.
func (l *lineChart) across() string {
	s := clean(l.t.X)
	switch {
	case l.x.log && l.xs[0] == 0:
		s += " (logarithmic except 0)"
	case l.x.log:
		s += " (logarithmic)"
	}
	return fit(captionPen(), s, wide/2, 1)[0]
}

// whiskers are drawn where they can be told apart.
func (l *lineChart) whiskers() bool {
	return len(l.lines) <= 8 && slices.ContainsFunc(l.t.Rows, func(r result.Row) bool { return unmeasured(l.t, r) == "" && drawable(r.P99) })
}

func (l *lineChart) height() vg.Length {
	return max(290, vg.Length(len(l.lines))*nameGap+50) + l.foot()
}

func (l *lineChart) foot() vg.Length {
	if len(l.unmeasured) == 0 {
		return 0
	}
	return vg.Length(len(l.unmeasured))*16 + 12
}

func (l *lineChart) draw(c draw.Canvas) {
	write(c, captionPen(), vg.Point{X: c.Min.X, Y: c.Min.Y + l.foot() - 12}, 16, l.unmeasured)
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Scale, p.X.Min, p.X.Max = l.x, l.x.floor, l.x.high
	p.Y.Scale, p.Y.Min, p.Y.Max = l.values, l.values.floor, l.values.high
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Length, a.Tick.Label, a.Width = 0, captionPen(), 0
	}
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Padding, p.Y.Padding = 8, 8
	area := draw.Crop(c, 0, -l.right-46, l.foot(), -6)
	below := captionPen() // not the library's own label, which takes its place on a logarithmic axis for a linear one's
	below.XAlign = draw.XCenter
	baseline(c, below, vg.Point{X: area.Center().X, Y: area.Min.Y + 4}, l.across())
	area.Min.Y += 18
	p.X.Tick.Marker, p.Y.Tick.Marker = l.xTicks(area.Size().X*0.9), l.values
	p.Add(l)
	p.Draw(area)
}

// xTicks are at the X that were measured, as far as their labels do not run into each other.
func (l *lineChart) xTicks(room vg.Length) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	edge := vg.Length(1e9)
	for _, v := range slices.Backward(l.xs) {
		at := vg.Length(l.x.Normalize(l.x.floor, l.x.high, v)) * room
		half := width(captionPen(), round(v)) / 2
		if at+half+6 < edge {
			ticks = append(ticks, plot.Tick{Value: v, Label: round(v)})
			edge = at - half
		}
	}
	return ticks
}

// Plot is for the plotting library.
func (l *lineChart) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range l.values.Ticks(p.Y.Min, p.Y.Max) {
		c.StrokeLine2(draw.LineStyle{Color: ruler, Width: 1}, c.Min.X-6, y(t.Value), c.Max.X+6, y(t.Value))
	}
	order := slices.Clone(l.lines)
	slices.SortStableFunc(order, func(a, b series) int { return cmp.Compare(rank(a.tool), rank(b.tool)) })
	if l.whiskers() {
		l.whisker(c, x, y)
	}
	for _, s := range order {
		l.line(c, s, x, y)
	}
	l.labels(c, x, y)
}

// rank puts brig's lines over the others.
func rank(tool string) int {
	return map[role]int{bare: 0, peer: 1, brig: 2}[roleOf(tool)]
}

// whisker draws those of all tools, the highest first: of some that share an X each one's cap is seen.
func (l *lineChart) whisker(c draw.Canvas, x, y func(float64) vg.Length) {
	type stroke struct {
		result.Row
		colour ink
	}
	var all []stroke
	for _, s := range l.lines {
		for _, r := range s.rows {
			if unmeasured(l.t, r) == "" && drawable(r.P99) {
				all = append(all, stroke{r, s.colour})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b stroke) int { return cmp.Compare(b.P99, a.P99) })
	for _, s := range all {
		line := draw.LineStyle{Color: s.colour, Width: 1}
		c.StrokeLine2(line, x(s.X), y(s.P50), x(s.X), y(s.P99))
		c.StrokeLine2(line, x(s.X)-3, y(s.P99), x(s.X)+3, y(s.P99))
	}
}

func (l *lineChart) line(c draw.Canvas, s series, x, y func(float64) vg.Length) {
	style := draw.LineStyle{Color: s.colour, Width: s.width, Dashes: s.dashes}
	var run []vg.Point
	for _, r := range s.rows {
		if unmeasured(l.t, r) != "" {
			c.StrokeLines(style, run)
			run = nil
			continue
		}
		run = append(run, vg.Point{X: x(r.X), Y: y(r.P50)})
	}
	c.StrokeLines(style, run)
	for _, r := range s.rows {
		if unmeasured(l.t, r) == "" {
			s.mark(c, vg.Point{X: x(r.X), Y: y(r.P50)})
		}
	}
}
