package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"brig/cmd/brig-bench/internal/result"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG draws a table: bars with whiskers from the median to the 99th percentile, or lines over X. The same table gives the
// same bytes. The picture stands alone, follows its reader's light or dark theme, and says what it shows to those who hear it.
func SVG(t *result.Table) ([]byte, error) {
	if t == nil {
		return nil, errors.New("report: no table to draw: pass a *result.Table")
	}
	var c chart = newBarChart(t)
	if overX(t) {
		c = newLineChart(t)
	}
	f := newFrame(t, c)
	canvas := vgsvg.New(wide, f.height)
	c.draw(f.draw(draw.New(canvas)))
	var raw bytes.Buffer
	if _, err := canvas.WriteTo(&raw); err != nil {
		return nil, fmt.Errorf("report: table %q: %w", t.ID, err)
	}
	return dress(raw.Bytes(), clean(t.Title), describe(t), wide, int(f.height))
}

// dress rewrites what the plotting library has drawn. Its style attributes would win over any style sheet, so colours
// become presentation attributes, which a sheet for the dark overrules, with a class to be caught by; its fonts become
// such as every reader has.
func dress(raw []byte, title, desc string, width, height int) ([]byte, error) {
	var body bytes.Buffer
	used := map[string]bool{}
	depth := 0
	var label *xml.StartElement // of a text, until its anchor is known
	for dec := xml.NewDecoder(bytes.NewReader(raw)); ; {
		tok, err := dec.RawToken()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("report: the plot is not well-formed: %w", err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				continue // our own root takes its place
			}
			if e.Name.Local == "text" {
				c := e.Copy()
				label = &c
				continue
			}
			open(&body, e, used)
		case xml.EndElement:
			if depth--; depth > 0 {
				body.WriteString("</" + e.Name.Local + ">\n")
			}
		case xml.CharData:
			if label != nil {
				text := anchor(label, string(e))
				open(&body, *label, used)
				body.WriteString(escape(text))
				label = nil
			}
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" class="brig-plot" role="img" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="'Liberation Sans', Arial, Helvetica, sans-serif">`+"\n<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n",
		width, height, width, height, escape(title), escape(desc), darkSheet(used))
	out.Write(body.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes(), nil
}

// anchor takes the mark off a text and gives its element the anchor that it stands for.
func anchor(e *xml.StartElement, text string) string {
	for mark, name := range map[string]string{anchorMiddle: "middle", anchorEnd: "end"} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			e.Attr = append(e.Attr, xml.Attr{Name: xml.Name{Local: "text-anchor"}, Value: name})
			return rest
		}
	}
	return text
}

// open writes a start tag with its style taken apart.
func open(w *bytes.Buffer, e xml.StartElement, used map[string]bool) {
	var attrs, classes []string
	for _, a := range e.Attr {
		if a.Name.Local != "style" {
			attrs = append(attrs, fmt.Sprintf(`%s="%s"`, a.Name.Local, escape(a.Value)))
			continue
		}
		for _, part := range strings.Split(a.Value, ";") {
			key, value, _ := strings.Cut(part, ":")
			if i, ok := inkOf(value); ok && (key == "fill" || key == "stroke") {
				class := key[:1] + "-" + i.name
				used[class] = true
				classes = append(classes, class)
				value = i.light
			}
			switch {
			case key == "font-family" || key == "font-variant" || key == "font-style" || value == "normal" || value == "":
			default:
				attrs = append(attrs, fmt.Sprintf(`%s="%s"`, key, escape(value)))
			}
		}
	}
	w.WriteString("<" + e.Name.Local)
	if len(classes) > 0 {
		attrs = append([]string{fmt.Sprintf(`class="%s"`, strings.Join(classes, " "))}, attrs...)
	}
	for _, a := range attrs {
		w.WriteString(" " + a)
	}
	w.WriteString(">")
	if e.Name.Local == "g" {
		w.WriteString("\n")
	}
}

// darkSheet has the dark colours of what the plot uses; paper stays white.
func darkSheet(used map[string]bool) string {
	var b strings.Builder
	b.WriteString("@media screen and (prefers-color-scheme:dark){")
	for _, i := range palette() {
		if used["f-"+i.name] {
			fmt.Fprintf(&b, ".brig-plot .f-%s{fill:%s}", i.name, i.dark)
		}
		if used["s-"+i.name] {
			fmt.Fprintf(&b, ".brig-plot .s-%s{stroke:%s}", i.name, i.dark)
		}
	}
	return b.String() + "}"
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer takes everything
	return b.String()
}

// describe says in words what the plot shows.
func describe(t *result.Table) string {
	if len(t.Rows) == 0 {
		return "No figures."
	}
	parts := make([]string, 0, len(t.Rows))
	for _, r := range t.Rows {
		s, why := r.Tool, unmeasured(t, r)
		if t.X != "" && (r.X != 0 || why == "") {
			s += " at " + round(r.X) + " " + t.X
		}
		if why != "" {
			s += ": not measured: " + why
		} else {
			s += ": median " + number(r.P50) + " " + t.Unit
			if drawable(r.P99) {
				s += ", 99th percentile " + number(r.P99)
			}
		}
		parts = append(parts, s)
	}
	return clean(strings.Join(parts, "; ") + ".")
}
