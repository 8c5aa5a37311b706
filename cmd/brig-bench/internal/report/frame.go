package report

import (
	"math"
	"strings"

	"brig/cmd/brig-bench/internal/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	wide   = 760 // of a plot, in its own units, which are pixels unless the page scales it
	margin = 18
	logAt  = 20 // figures that span more than this need a logarithmic axis
)

// chart is what a frame goes around.
type chart interface {
	caption() string // how to read it
	height() vg.Length
	draw(c draw.Canvas)
}

// frame is a plot's paper, title and caption.
type frame struct {
	title, caption []string
	height         vg.Length
}

func newFrame(t *result.Table, c chart) frame {
	f := frame{title: fit(titlePen(), t.Title, wide-2*margin, 2), caption: fit(captionPen(), c.caption(), wide-2*margin, 3)}
	f.height = vg.Length(math.Ceil(float64(f.head() + c.height() + margin)))
	return f
}

func titlePen() draw.TextStyle   { return pen(16, letter, true) }
func captionPen() draw.TextStyle { return pen(12, muted, false) }

// head is the height of title and caption.
func (f frame) head() vg.Length {
	return margin + vg.Length(len(f.title))*20 + vg.Length(len(f.caption))*16 + 8
}

// draw gives what is left for the chart.
func (f frame) draw(c draw.Canvas) draw.Canvas {
	c.FillPolygon(paper, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	y := c.Max.Y - margin
	y = write(c, titlePen(), vg.Point{X: c.Min.X + margin, Y: y}, 20, f.title)
	write(c, captionPen(), vg.Point{X: c.Min.X + margin, Y: y}, 16, f.caption)
	return draw.Crop(c, margin, -margin, margin, -f.head())
}

// write puts lines below at, and gives where the next would go.
func write(c draw.Canvas, style draw.TextStyle, at vg.Point, leading vg.Length, lines []string) vg.Length {
	for _, l := range lines {
		baseline(c, style, vg.Point{X: at.X, Y: at.Y - 0.8*leading}, l)
		at.Y -= leading
	}
	return at.Y
}

// baseline writes a line whose letters stand on at, to the right of it, to the left or around it as the style has it.
func baseline(c draw.Canvas, style draw.TextStyle, at vg.Point, line string) {
	style.YAlign = draw.YBottom
	c.FillText(style, vg.Point{X: at.X, Y: at.Y + style.FontExtents().Ascent - style.Font.Size}, line)
}

// middle writes a line whose small letters have their middle at at.
func middle(c draw.Canvas, style draw.TextStyle, at vg.Point, line string) {
	baseline(c, style, vg.Point{X: at.X, Y: at.Y - 0.35*style.Font.Size}, line)
}

// unmeasured says why a row has no figure to draw; "" if it has one.
func unmeasured(t *result.Table, r result.Row) string {
	switch {
	case strings.TrimSpace(r.Error) != "":
		return clean(r.Error)
	case math.IsNaN(r.P50) || math.IsInf(r.P50, 0):
		return "the median is not a finite number"
	case t.X != "" && (math.IsNaN(r.X) || math.IsInf(r.X, 0)):
		return "its X is not a finite number"
	}
	return ""
}

// drawable tells a percentile that was taken from one that was not, which is 0.
func drawable(v float64) bool { return v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0) }

// span gives the bounds of what is drawn of the rows that were measured, and whether there are any.
func span(t *result.Table) (low, high float64, any bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range t.Rows {
		if unmeasured(t, r) != "" {
			continue
		}
		any = true
		for _, v := range []float64{r.P50, r.P90, r.P99} {
			if v == r.P50 || drawable(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	return low, high, any
}
