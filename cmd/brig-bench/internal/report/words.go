package report

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// number writes a figure with three significant digits, and with commas from a thousand up.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v < 0:
		return "−" + number(-v)
	case v == 0:
		return "0"
	case v < 0.001 || v >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v < 0.9995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return grouped(strconv.FormatFloat(v, 'f', 0, 64))
}

// round writes the value of a tick or of an X: as short as it can be.
func round(v float64) string {
	switch {
	case v < 0:
		return "−" + round(-v)
	case v >= 1e15 || v < 1e-4 && v > 0:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return grouped(strconv.FormatFloat(v, 'f', -1, 64))
}

// grouped puts commas between the thousands.
func grouped(s string) string {
	whole, fraction, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + fraction
	}
	return whole
}

// clean makes one line of text that XML can hold: a tool's version is what the tool said, and may be anything.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co) || r == '\uFFFE' || r == '\uFFFF'
	}), " ")
}

// longest is how many bytes of a text are looked at for a plot: an error may quote a whole log.
const longest = 1000

// fit breaks text into at most so many lines that are no wider than the room; what is left over becomes an ellipsis.
func fit(style text.Style, s string, room vg.Length, lines int) []string {
	var out []string
	line := ""
	words := strings.Fields(clean(s[:min(len(s), longest)]))
	for len(words) > 0 {
		longer := strings.TrimSpace(line + " " + words[0])
		switch {
		case width(style, longer) <= room:
			line, words = longer, words[1:]
			continue
		case len(out) == lines-1:
			return append(out, shorten(style, longer, room))
		case line == "": // a word that is wider than a line
			head := split(style, words[0], room)
			out, words[0] = append(out, words[0][:head]), words[0][head:]
			continue
		}
		out, line = append(out, line), ""
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// split gives how many bytes of a word fit; one character always does, or there would be no end.
func split(style text.Style, word string, room vg.Length) int {
	_, end := utf8.DecodeRuneInString(word)
	for end < len(word) {
		_, size := utf8.DecodeRuneInString(word[end:])
		if width(style, word[:end+size]) > room {
			break
		}
		end += size
	}
	return end
}

// shorten cuts text to the room, with an ellipsis.
func shorten(style text.Style, s string, room vg.Length) string {
	if width(style, s) <= room {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && width(style, string(runes)+"…") > room {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,;:") + "…"
}
