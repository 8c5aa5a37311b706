package report

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels writes each line's glyph and name to the right of its end, moved up or down where names would run into each
// other; a hairline leads from the end to the name, unless the line ends early.
func (l *lineChart) labels(c draw.Canvas, x, y func(float64) vg.Length) {
	type label struct {
		series
		from vg.Point
	}
	var list []label
	for _, s := range l.lines {
		for _, r := range slices.Backward(s.rows) {
			if unmeasured(l.t, r) == "" {
				list = append(list, label{s, vg.Point{X: x(r.X), Y: y(r.P50)}})
				break
			}
		}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(b.from.Y, a.from.Y) })
	heights := make([]vg.Length, len(list))
	for i, e := range list {
		heights[i] = e.from.Y
	}
	spread(heights, c.Min.Y, c.Max.Y)
	last := x(l.xs[len(l.xs)-1])
	for i, e := range list {
		at := vg.Point{X: last + 30, Y: heights[i]}
		if e.from.X == last {
			c.StrokeLines(draw.LineStyle{Color: e.colour, Width: 0.5}, []vg.Point{{X: last + 6, Y: e.from.Y}, {X: at.X - 6, Y: at.Y}})
		}
		e.mark(c, at)
		middle(c, e.pen(), vg.Point{X: at.X + 9, Y: at.Y}, e.name)
	}
}

// spread moves heights, which descend, until neighbours are a name's height apart, and all between low and high if there
// is room.
func spread(heights []vg.Length, low, high vg.Length) {
	for i := range heights {
		limit := high
		if i > 0 {
			limit = heights[i-1] - nameGap
		}
		heights[i] = min(heights[i], limit)
	}
	for i := len(heights) - 1; i >= 0; i-- {
		limit := low
		if i < len(heights)-1 {
			limit = heights[i+1] + nameGap
		}
		heights[i] = max(heights[i], limit)
	}
}

// mark draws a line's glyph.
func (s *series) mark(c draw.Canvas, at vg.Point) {
	c.SetLineDash(nil, 0)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: s.colour, Radius: 4, Shape: s.glyph}, at)
}

// polygon is a regular glyph, turned by a share of the angle between its corners: the library's own are of hairlines, or
// few.
type polygon struct {
	corners int
	turn    float64
}

// DrawGlyph is for the plotting library.
func (p polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var points []vg.Point
	for i := range p.corners {
		sin, cos := math.Sincos(2 * math.Pi * (float64(i) + p.turn) / float64(p.corners))
		points = append(points, vg.Point{X: at.X + 1.25*style.Radius*vg.Length(sin), Y: at.Y + 1.25*style.Radius*vg.Length(cos)})
	}
	c.FillPolygon(style.Color, points)
}

// ring is a circle with paper in it.
type ring struct{}

// DrawGlyph is for the plotting library.
func (ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
	c.SetColor(paper)
	style.Radius -= 1.5
	draw.CircleGlyph{}.DrawGlyph(c, style, at)
}
