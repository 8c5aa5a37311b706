package report

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"golang.org/x/image/font"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// ink is a colour by its role: a plot is drawn in the light colours, and a style sheet in the plot swaps them in the dark.
type ink struct {
	name, light, dark string // the colours as #rrggbb; no two inks share a light one
}

// The hues are Okabe and Ito's, which the colour-blind can tell apart, darkened where white paper would swallow them.
var (
	paper    = ink{"paper", "#ffffff", "#15191e"}
	ruler    = ink{"ruler", "#e4e7eb", "#2d343c"}
	muted    = ink{"muted", "#57606a", "#a4adb7"}
	letter   = ink{"letter", "#1b1f24", "#e6e9ec"}
	brigInk  = ink{"brig", "#0072b2", "#56b4e9"}
	bareInk  = ink{"bare", "#6b6f75", "#b9bec5"}
	brigInks = []ink{brigInk, {"brig2", "#2f3f86", "#aab6ff"}, {"brig3", "#0b7f93", "#4fd3e4"}, {"brig4", "#6a5acd", "#c3b8ff"}} // for several lines of brig's
	otherInk = ink{"other", "#bcc5cf", "#4d5965"}
	hues     = []ink{{"hue1", "#c25400", "#ff9050"}, {"hue2", "#007a59", "#2fd0a2"}, {"hue3", "#ad4a83", "#eda0cb"},
		{"hue4", "#866300", "#e6c04a"}, {"hue5", "#7a4b2a", "#c99b78"}}
)

// palette is every ink; its order is that of the style sheet.
func palette() []ink {
	return slices.Concat([]ink{paper, ruler, muted, letter, bareInk, otherInk}, brigInks, hues)
}

// RGBA makes an ink a color.Color.
func (i ink) RGBA() (r, g, b, a uint32) {
	var c color.RGBA
	if _, err := fmt.Sscanf(i.light, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		panic("ink " + i.name + ": " + err.Error()) // a slip in the table above
	}
	c.A = 0xff
	return c.RGBA()
}

// inkOf finds the ink of a light colour, in either case.
func inkOf(light string) (ink, bool) {
	for _, i := range palette() {
		if strings.EqualFold(i.light, light) {
			return i, true
		}
	}
	return ink{}, false
}

// role is what a contender is to the reader.
type role int

const (
	peer role = iota
	brig
	bare
)

// roleOf goes by the name: all that begins with the word brig is brig's, "no jail" is the yardstick.
func roleOf(tool string) role {
	tool = strings.TrimSpace(tool)
	first, _, _ := strings.Cut(tool, " ")
	switch {
	case strings.TrimRight(first, ",:;") == "brig":
		return brig
	case tool == "no jail":
		return bare
	}
	return peer
}

// pen is how text is written: Liberation Sans, whose widths are those of Arial and Helvetica.
func pen(size float64, i ink, bold bool) text.Style {
	f := plotfont.From(plotfont.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
	if bold {
		f.Weight = font.WeightBold
	}
	return text.Style{Color: i, Font: f, Handler: anchored{text.Plain{Fonts: plotfont.DefaultCache}}}
}

// width is how wide a line may become where the reader has none of those fonts: DejaVu Sans is that much wider.
func width(style text.Style, s string) vg.Length {
	if style.Font.Weight == font.WeightBold {
		return style.Width(s) * 1.25
	}
	return style.Width(s) * 1.17
}

// anchored writes lines at their anchor, marked for dress to make it an SVG text-anchor: the library would compute where
// a line begins from its own font's widths, and centred text would stand aside in any other.
type anchored struct{ text.Plain }

const (
	anchorMiddle = "\uE001" // characters for private use, which clean takes out of all text that is not ours
	anchorEnd    = "\uE002"
)

// Draw is for the plotting library.
func (h anchored) Draw(c vg.Canvas, line string, style text.Style, at vg.Point) {
	face := h.Fonts.Lookup(style.Font, style.Font.Size)
	at.Y += style.Height(line)*vg.Length(style.YAlign) - face.Extents().Ascent + style.Font.Size
	switch style.XAlign {
	case text.XCenter:
		line = anchorMiddle + line
	case text.XRight:
		line = anchorEnd + line
	}
	c.SetColor(style.Color)
	c.FillString(face, at, line)
}
