package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// box is where a text of a plot stands, in the plot's units.
type box struct {
	text                     string
	left, right, top, bottom float64
}

// boxes measures the texts of a plot as a reader with a wide font sees them.
func boxes(t *testing.T, svg []byte) (width, height float64, list []box) {
	t.Helper()
	var picture struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Texts  []struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Anchor string  `xml:"text-anchor,attr"`
			Weight string  `xml:"font-weight,attr"`
			Size   string  `xml:"font-size,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"g>text"`
	}
	if err := xml.NewDecoder(bytes.NewReader(svg)).Decode(&picture); err != nil {
		t.Fatal(err)
	}
	for _, e := range picture.Texts {
		size, err := strconv.ParseFloat(strings.TrimSuffix(e.Size, "px"), 64)
		if err != nil {
			t.Fatalf("%q: %v", e.Text, err)
		}
		w := float64(wideness(size, e.Weight == "bold", e.Text))
		left := e.X - map[string]float64{"": 0, "middle": 0.5, "end": 1}[e.Anchor]*w
		base := e.Y + picture.Height
		list = append(list, box{e.Text, left, left + w, base - 0.75*size, base + 0.2*size})
	}
	return picture.Width, picture.Height, list
}

func wideness(size float64, bold bool, s string) vg.Length { return width(pen(size, letter, bold), s) }

// No text of any plot runs out of it or into another one.
func TestTextHasRoom(t *testing.T) {
	for _, table := range append(sample().Tables, hard()...) {
		t.Run(table.ID, func(t *testing.T) {
			width, height, list := boxes(t, plotOf(t, &table))
			if len(list) < 2 {
				t.Fatalf("only %d texts found", len(list))
			}
			for i, a := range list {
				if a.left < 0 || a.top < 0 || a.right > width || a.bottom > height {
					t.Errorf("cut off: %s", where(a))
				}
				for _, b := range list[:i] {
					if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
						t.Errorf("over each other: %s, %s", where(a), where(b))
					}
				}
			}
		})
	}
}

func where(b box) string {
	return fmt.Sprintf("%q at %.0f–%.0f, %.0f–%.0f", b.text, b.left, b.right, b.top, b.bottom)
}

// Every colour that is drawn has one for the dark.
func TestEveryColourHasADarkOne(t *testing.T) {
	for _, table := range append(sample().Tables, hard()...) {
		svg := string(plotOf(t, &table))
		for _, key := range []string{"fill", "stroke"} {
			for _, part := range strings.Split(svg, " "+key+`="`)[1:] {
				value, _, _ := strings.Cut(part, `"`)
				i, ok := inkOf(value)
				if value != "none" && (!ok || !strings.Contains(svg, "."+key[:1]+"-"+i.name+"{"+key+":"+i.dark)) {
					t.Errorf("%s: %s %s has no dark colour", table.ID, key, value)
				}
			}
		}
		if strings.Count(svg, "<text ") != strings.Count(svg, `<text class="f-`) || strings.Contains(svg, "style=") {
			t.Errorf("%s: a text without a class, or a style attribute that a sheet cannot overrule", table.ID)
		}
	}
}

// Names are written in the colours of their lines: those must have the contrast that WCAG 2 wants of text.
func TestContrast(t *testing.T) {
	luminance := func(colour string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			sum += weight * math.Pow((float64(n)/255+0.055)/1.055, 2.4)
		}
		return sum
	}
	for _, i := range slices.Concat([]ink{muted, letter, bareInk}, brigInks, hues) {
		light := (luminance(paper.light) + 0.05) / (luminance(i.light) + 0.05)
		dark := (luminance(i.dark) + 0.05) / (luminance(paper.dark) + 0.05)
		if min(light, dark) < 4.5 {
			t.Errorf("%s on paper: %.1f, and %.1f in the dark", i.name, light, dark)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct{ in, want []vg.Length }{
		{nil, nil},
		{[]vg.Length{50}, []vg.Length{50}},
		{[]vg.Length{50, 50, 50}, []vg.Length{50, 34, 18}},
		{[]vg.Length{5, 5}, []vg.Length{16, 0}},
		{[]vg.Length{200, 190, 10}, []vg.Length{100, 84, 10}},
	} {
		got := append([]vg.Length(nil), test.in...)
		spread(got, 0, 100)
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%v: %v, want %v", test.in, got, test.want)
				break
			}
		}
	}
}
